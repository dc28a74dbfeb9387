/* Dense arrays in C++: writes and reads in each layout, several attributes, texts, estimates. */
#include "check.hh"

using namespace tiledb;

static void create(const Context &ctx) {
  Domain domain(ctx);
  domain.add_dimensions(
      Dimension::create<int32_t>(ctx, "x", {{1, 4}}, 2), Dimension::create<int32_t>(ctx, "y", {{1, 3}}, 3));
  ArraySchema schema(ctx, TILEDB_DENSE);
  schema.set_domain(domain);
  schema.add_attribute(Attribute::create<int64_t>(ctx, "a"));
  schema.add_attribute(Attribute::create<std::string>(ctx, "s"));
  schema.add_attribute(Attribute::create<float>(ctx, "f").set_nullable(true));
  Array::create(ctx, "array", schema);
}

static void read(const Context &ctx, const std::string &words, tiledb_layout_t layout, std::vector<int32_t> box) {
  Array array(ctx, "array", TILEDB_READ);
  Query query(ctx, array);
  Subarray subarray(ctx, array);
  subarray.add_range(0, box[0], box[1]).add_range("y", box[2], box[3]);
  std::vector<int64_t> a(12);
  std::vector<float> f(12);
  std::vector<uint8_t> valid(12);
  std::string s(64, ' ');
  std::vector<uint64_t> offsets(12);
  std::vector<int32_t> x(12);
  query.set_layout(layout).set_subarray(subarray);
  query.set_data_buffer("a", a).set_data_buffer("f", f).set_validity_buffer("f", valid);
  query.set_data_buffer("s", s).set_offsets_buffer("s", offsets).set_data_buffer("x", x);
  auto status = query.submit();
  auto found = query.result_buffer_elements_nullable();
  std::cout << words << ": " << (status == Query::Status::COMPLETE) << std::endl;
  print("  a", a, std::get<1>(found["a"]));
  print("  x", x, std::get<1>(found["x"]));
  print("  f", f, std::get<1>(found["f"]));
  print("  valid", valid, std::get<2>(found["f"]));
  s.resize(std::get<1>(found["s"]));
  for (auto &c : s) c = c == 0 ? '.' : c;
  print("  s", s);
  print("  offsets", offsets, std::get<0>(found["s"]));
}

int main() {
  Context ctx;
  create(ctx);
  read(ctx, "unwritten", TILEDB_ROW_MAJOR, {1, 1, 1, 3});

  auto array = open_at(ctx, "array", TILEDB_WRITE, 1);
  Query query(ctx, array);
  std::vector<int64_t> a{1, 2, 3, 4, 5, 6};
  std::vector<float> f{0.5, 1.5, 2.5, 3.5, 4.5, 5.5};
  std::vector<uint8_t> valid{1, 0, 1, 1, 0, 1};
  /* An empty text in the last cell is left out: libtiledb 2.30 sometimes crashes on it. */
  std::string s = "abbcccde";
  std::vector<uint64_t> offsets{0, 1, 3, 3, 6, 7};
  Subarray subarray(ctx, array);
  subarray.set_subarray<int32_t>({2, 3, 1, 3});
  query.set_layout(TILEDB_ROW_MAJOR).set_subarray(subarray).set_data_buffer("a", a);
  query.set_data_buffer("f", f).set_validity_buffer("f", valid);
  query.set_data_buffer("s", s).set_offsets_buffer("s", offsets);
  std::cout << "written " << (query.submit() == Query::Status::COMPLETE) << ", fragments "
            << query.fragment_num() << ", at " << query.fragment_timestamp_range(0).first << std::endl;
  query.finalize();
  array.close();

  read(ctx, "rows", TILEDB_ROW_MAJOR, {1, 4, 1, 3});
  read(ctx, "columns", TILEDB_COL_MAJOR, {2, 3, 1, 3});
  read(ctx, "global", TILEDB_GLOBAL_ORDER, {2, 3, 1, 3});
  read(ctx, "one cell", TILEDB_ROW_MAJOR, {3, 3, 2, 2});

  array.open(TILEDB_READ);
  for (const auto &one : array.non_empty_domain<int32_t>()) {
    std::cout << one.first << " " << one.second.first << " to " << one.second.second << std::endl;
  }
  auto y = array.non_empty_domain<int32_t>("y");
  std::cout << y.first << " to " << y.second << ", " << array.query_type() << array.is_open() << std::endl;
  Query sized(ctx, array);
  sized.set_layout(TILEDB_ROW_MAJOR).set_subarray(Subarray(ctx, array).add_range<int32_t>(0, 1, 4));
  std::cout << "enough: " << (sized.est_result_size("a") >= 96) << (sized.est_result_size_var("s")[1] >= 7)
            << (sized.est_result_size_nullable("f")[1] >= 6) << std::endl;
  attempt("estimate of an unknown field", [&] { sized.est_result_size("b"); });
  attempt("a buffer of another type", [&] { sized.set_data_buffer("a", f); });
  attempt("a range of another type", [&] { Subarray(ctx, array).add_range<int64_t>(0, 1, 2); });
  attempt("a range outside", [&] { Subarray(ctx, array).add_range<int32_t>(0, 1, 5); });
  Subarray ranges(ctx, array);
  ranges.add_range<int32_t>(0, 1, 1).add_range<int32_t>(0, 3, 4);
  std::cout << ranges.range_num(0) << " ranges, " << ranges.range_num("y") << ", the second from "
            << ranges.range<int32_t>(0, 1)[0] << std::endl;
  array.close();
  attempt("a query of a closed array", [&] { Query(ctx, array, TILEDB_READ); });
  return 0;
}
