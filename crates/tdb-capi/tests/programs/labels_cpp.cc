/* Dimension labels, profiles and files in arrays in C++. */
#include "check.hh"

using namespace tiledb;

int main() {
  Context ctx;
  Domain domain(ctx);
  domain.add_dimension(Dimension::create<int32_t>(ctx, "d", {{1, 5}}, 5));
  ArraySchema schema(ctx, TILEDB_DENSE);
  schema.set_domain(domain);
  schema.add_attribute(Attribute::create<int32_t>(ctx, "a"));
  ArraySchemaExperimental::add_dimension_label(ctx, schema, 0, "x", TILEDB_INCREASING_DATA, TILEDB_FLOAT64);
  std::cout << ArraySchemaExperimental::has_dimension_label(ctx, schema, "x")
            << ArraySchemaExperimental::has_dimension_label(ctx, schema, "y") << std::endl;
  auto label = ArraySchemaExperimental::dimension_label(ctx, schema, "x");
  std::cout << label.name() << " " << label.dimension_index() << " " << impl::type_to_str(label.label_type()) << " "
            << (label.label_order() == TILEDB_INCREASING_DATA) << " " << label.label_cell_val_num() << std::endl;
  attempt("an unknown label", [&] { ArraySchemaExperimental::dimension_label(ctx, schema, "y"); });
  Array::create(ctx, "array", schema);

  auto array = open_at(ctx, "array", TILEDB_WRITE, 1);
  Query query(ctx, array);
  std::vector<double> x{-1, 0, 0.5, 2, 8};
  std::vector<int32_t> a{1, 2, 3, 4, 5};
  Subarray all(ctx, array);
  all.set_subarray<int32_t>({1, 5});
  query.set_layout(TILEDB_ROW_MAJOR).set_subarray(all).set_data_buffer("a", a);
  QueryExperimental::set_data_buffer(query, "x", x);
  query.submit();
  query.finalize();
  array.close();

  array.open(TILEDB_READ);
  Subarray some(ctx, array);
  SubarrayExperimental::add_label_range<double>(ctx, some, "x", 0, 3);
  std::cout << SubarrayExperimental::label_range_num(ctx, some, "x") << " range from "
            << SubarrayExperimental::label_range<double>(ctx, some, "x", 0)[0] << std::endl;
  Query read(ctx, array);
  std::vector<double> labels(5);
  std::vector<int32_t> values(5);
  read.set_layout(TILEDB_ROW_MAJOR).set_subarray(some).set_data_buffer("a", values);
  QueryExperimental::set_data_buffer(read, "x", labels);
  read.submit();
  auto count = read.result_buffer_elements()["a"].second;
  print("a", values, count);
  print("x", labels, count);
  attempt("a range of an unknown label", [&] {
    SubarrayExperimental::add_label_range<double>(ctx, some, "y", 0, 3);
  });
  array.close();

  Profile profile("mine", "profiles/");
  std::cout << profile.name() << " " << profile.get_param("rest.username").has_value() << std::endl;
  profile.set_param("rest.token", "secret");
  std::cout << profile.get_param("rest.token").value_or("none") << std::endl;
  profile.save();
  attempt("saved again", [&] { profile.save(); });
  auto loaded = Profile::load("mine", "profiles/");
  std::cout << loaded.get_param("rest.token").value_or("none") << std::endl;
  Profile::remove("mine", "profiles/");
  attempt("loaded after it is removed", [&] { Profile::load("mine", "profiles/"); });

  return 0;
}
