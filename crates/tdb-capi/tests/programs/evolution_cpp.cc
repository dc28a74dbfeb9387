/* Enumerations, current domains and evolution in C++. */
#include "check.hh"

using namespace tiledb;

static void show(const Context &ctx, const std::string &words) {
  ArraySchema schema(ctx, "array");
  std::cout << words << ":";
  for (unsigned i = 0; i < schema.attribute_num(); i++) std::cout << " " << schema.attribute(i).name();
  auto current = ArraySchemaExperimental::current_domain(ctx, schema);
  if (!current.is_empty()) {
    auto range = current.ndrectangle().range<int32_t>("d");
    std::cout << ", " << range[0] << " to " << range[1];
  }
  std::cout << std::endl;
}

static CurrentDomain current_of(const Context &ctx, const Domain &domain, int32_t high) {
  NDRectangle rectangle(ctx, domain);
  rectangle.set_range<int32_t>("d", 1, high);
  CurrentDomain current(ctx);
  current.set_ndrectangle(rectangle);
  return current;
}

int main() {
  Context ctx;
  std::vector<std::string> colours{"red", "green", "blue"}, black{"black"}, red{"red"};
  std::vector<int32_t> tens{10, 20, 30};
  auto words = Enumeration::create(ctx, "words", colours);
  auto numbers = Enumeration::create(ctx, "numbers", tens, true);
  print("words", words.as_vector<std::string>());
  print("numbers", numbers.as_vector<int32_t>());
  std::cout << words.name() << " " << words.ordered() << numbers.ordered() << " " << impl::type_to_str(words.type())
            << " " << numbers.cell_val_num() << std::endl;
  auto index = words.index_of(std::string_view("green"));
  auto none = numbers.index_of(int32_t(25));
  std::cout << index.value_or(99) << " " << none.has_value() << std::endl;
  auto longer = words.extend(black);
  print("longer", longer.as_vector<std::string>());
  attempt("a word twice", [&] { words.extend(red); });

  Domain domain(ctx);
  domain.add_dimension(Dimension::create<int32_t>(ctx, "d", {{1, 100}}, 10));
  /* The schema has an early time, so that evolutions are later. */
  tiledb_array_schema_t *early = nullptr;
  ctx.handle_error(tiledb_array_schema_alloc_at_timestamp(ctx.ptr().get(), TILEDB_SPARSE, 1, &early));
  ArraySchema schema(ctx, early);
  schema.set_domain(domain);
  ArraySchemaExperimental::add_enumeration(ctx, schema, words);
  auto colour = Attribute::create<int32_t>(ctx, "colour");
  AttributeExperimental::set_enumeration_name(ctx, colour, "words");
  schema.add_attribute(colour);
  ArraySchemaExperimental::set_current_domain(ctx, schema, current_of(ctx, domain, 50));
  Array::create(ctx, "array", schema);
  show(ctx, "new");
  std::cout << AttributeExperimental::get_enumeration_name(ctx, colour).value_or("none") << std::endl;
  auto of_schema = ArraySchemaExperimental::get_enumeration_from_attribute_name(ctx, schema, "colour");
  print("of the schema", of_schema.as_vector<std::string>());

  auto array = open_at(ctx, "array", TILEDB_WRITE, 2);
  Query query(ctx, array);
  std::vector<int32_t> d{1, 20, 50}, values{0, 1, 2};
  query.set_layout(TILEDB_UNORDERED).set_data_buffer("d", d).set_data_buffer("colour", values);
  query.submit();
  Query outside(ctx, array);
  std::vector<int32_t> far{51}, one{0};
  outside.set_layout(TILEDB_UNORDERED).set_data_buffer("d", far).set_data_buffer("colour", one);
  attempt("outside of the current domain", [&] { outside.submit(); });
  array.close();

  ArraySchemaEvolution evolution(ctx);
  evolution.set_timestamp_range({3, 3});
  evolution.add_attribute(Attribute::create<int32_t>(ctx, "more"));
  evolution.extend_enumeration(longer);
  evolution.expand_current_domain(current_of(ctx, domain, 80));
  evolution.array_evolve("array");
  show(ctx, "evolved");

  Array again(ctx, "array", TILEDB_READ);
  ArrayExperimental::load_all_enumerations(ctx, again);
  print("of the array", ArrayExperimental::get_enumeration(ctx, again, "words").as_vector<std::string>());
  Query read(ctx, again);
  std::vector<int32_t> found(5), more(5);
  read.set_layout(TILEDB_ROW_MAJOR).set_data_buffer("colour", found).set_data_buffer("more", more);
  auto green = QueryCondition::create(ctx, "colour", std::string("red"), TILEDB_NE);
  read.set_condition(green);
  read.submit();
  auto count = read.result_buffer_elements()["colour"].second;
  print("colours", found, count);
  print("more", more, count);
  again.close();

  ArraySchemaEvolution drop(ctx);
  drop.set_timestamp_range({4, 4});
  drop.drop_attribute("more");
  drop.array_evolve("array");
  show(ctx, "dropped");
  ArraySchemaEvolution wrong(ctx);
  wrong.set_timestamp_range({5, 5});
  wrong.drop_attribute("none");
  attempt("an unknown attribute", [&] { wrong.array_evolve("array"); });
  attempt("a smaller domain", [&] {
    ArraySchemaEvolution smaller(ctx);
    smaller.set_timestamp_range({6, 6});
    smaller.expand_current_domain(current_of(ctx, domain, 10));
    smaller.array_evolve("array");
  });
  show(ctx, "in the end");
  return 0;
}
