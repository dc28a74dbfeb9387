/* Sparse arrays in C++: writes, ranges, incomplete reads, duplicates, texts, global order. */
#include "check.hh"

using namespace tiledb;

static void texts(const Context &ctx) {
  Domain domain(ctx);
  domain.add_dimension(Dimension::create(ctx, "key", TILEDB_STRING_ASCII, nullptr, nullptr));
  domain.add_dimension(Dimension::create<double>(ctx, "real", {{-10.0, 10.0}}, 5.0));
  ArraySchema schema(ctx, TILEDB_SPARSE);
  schema.set_domain(domain).set_allows_dups(true);
  schema.add_attribute(Attribute::create<uint16_t>(ctx, "a"));
  Array::create(ctx, "keys", schema);
  auto array = open_at(ctx, "keys", TILEDB_WRITE, 1);
  Query query(ctx, array);
  std::string key = "cataadogbird";
  std::vector<uint64_t> offsets{0, 3, 5, 8};
  std::vector<double> real{1.5, -2.5, 0, 9.75};
  std::vector<uint16_t> a{1, 2, 3, 4};
  query.set_layout(TILEDB_UNORDERED).set_data_buffer("key", key).set_offsets_buffer("key", offsets);
  query.set_data_buffer("real", real).set_data_buffer("a", a);
  query.submit();
  array.close();

  array.open(TILEDB_READ);
  auto bounds = array.non_empty_domain_var("key");
  print("from", bounds.first);
  print("to", bounds.second);
  auto reals = array.non_empty_domain<double>(1);
  std::cout << reals.first << " to " << reals.second << std::endl;
  Query ranges(ctx, array);
  Subarray subarray(ctx, array);
  subarray.add_range(0, std::string("b"), std::string("cz")).add_range(1, -10.0, 5.0);
  std::string found(64, ' ');
  std::vector<uint64_t> places(8);
  std::vector<uint16_t> values(8);
  ranges.set_layout(TILEDB_UNORDERED).set_subarray(subarray).set_data_buffer("key", found);
  ranges.set_offsets_buffer("key", places).set_data_buffer("a", values);
  ranges.submit();
  auto counts = ranges.result_buffer_elements();
  found.resize(counts["key"].second);
  print("keys", found);
  print("offsets", places, counts["key"].first);
  print("a", values, counts["a"].second);
  auto range = subarray.range(0, 0);
  print("range from", range[0]);
  print("range to", range[1]);
  array.close();
}

int main() {
  Context ctx;
  create_sparse(ctx, "array");
  write_sparse(ctx, "array", 1, {5, 50, 95, 20}, {1, 2, 3, 4});
  write_sparse(ctx, "array", 2, {50, 51}, {20, 21});
  print_sparse("all", ctx, "array", 10);
  print_sparse("at 1", ctx, "array", 1);
  attempt("a coordinate twice", [&] { write_sparse(ctx, "array", 3, {7, 7}, {1, 2}); });
  attempt("outside", [&] { write_sparse(ctx, "array", 3, {101}, {1}); });

  Array array(ctx, "array", TILEDB_READ);
  Query query(ctx, array);
  Subarray subarray(ctx, array);
  subarray.add_range<int32_t>(0, 1, 30).add_range<int32_t>(0, 51, 100);
  query.set_subarray(subarray);
  print_sparse("two ranges", query);
  std::cout << query.has_results() << " " << query.query_layout() << " " << query.query_type() << std::endl;

  /* In pieces of at most two cells. */
  Query pieces(ctx, array);
  std::vector<int32_t> d(2), a(2);
  int64_t cells = 0, sum = 0;
  int rounds = 0;
  pieces.set_layout(TILEDB_ROW_MAJOR).set_data_buffer("d", d).set_data_buffer("a", a);
  Query::Status status;
  do {
    status = pieces.submit();
    auto count = pieces.result_buffer_elements()["a"].second;
    for (uint64_t i = 0; i < count; i++) sum += int64_t(d[i]) * a[i];
    cells += int64_t(count);
  } while (status == Query::Status::INCOMPLETE && ++rounds < 100);
  std::cout << cells << " cells, " << sum << ", in pieces " << (rounds > 0) << std::endl;

  Query unordered(ctx, array);
  attempt("an unknown field", [&] { unordered.set_data_buffer("b", a); });
  attempt("another type", [&] {
    std::vector<double> wrong(4);
    unordered.set_data_buffer("a", wrong);
  });
  array.close();

  create_sparse(ctx, "global");
  auto written = open_at(ctx, "global", TILEDB_WRITE, 1);
  Query ordered(ctx, written);
  ordered.set_layout(TILEDB_GLOBAL_ORDER);
  std::vector<int32_t> first{1, 2, 3}, second{10, 30}, values{1, 2, 3};
  ordered.set_data_buffer("d", first).set_data_buffer("a", values);
  ordered.submit();
  values.resize(2);
  ordered.set_data_buffer("d", second).set_data_buffer("a", values);
  ordered.submit_and_finalize();
  written.close();
  print_sparse("global", ctx, "global", 1);
  texts(ctx);
  return 0;
}
