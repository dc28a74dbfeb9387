/* Reads of many points that a subarray is given at once. */
#include "check.h"

static void sparse(const char *words, const int32_t *points, uint64_t count) {
  int32_t d1[64], a[64];
  uint64_t sizes[] = {sizeof d1, sizeof a};
  tiledb_array_t *array = open_at("sparse", TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  int code = tiledb_subarray_add_point_ranges(ctx, subarray, 0, points, count);
  uint64_t ranges = 0;
  OK(tiledb_subarray_get_range_num(ctx, subarray, 0, &ranges));
  printf("%s: %d, %" PRIu64 " ranges\n", words, code, ranges);
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  print_i32("  d1", d1, sizes[0] / 4);
  print_i32("  a", a, sizes[1] / 4);
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);
}

static void dense(const int32_t *rows, uint64_t row_count, const int32_t *columns, uint64_t column_count) {
  int32_t a[64];
  uint64_t size = sizeof a;
  tiledb_array_t *array = open_at("dense", TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  OK(tiledb_subarray_add_point_ranges(ctx, subarray, 0, rows, row_count));
  OK(tiledb_subarray_add_point_ranges(ctx, subarray, 1, columns, column_count));
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &size));
  OK(tiledb_query_submit(ctx, query));
  print_i32("dense", a, size / 4);
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);
}

static void texts(void) {
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_text_domain(schema, "key");
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  create("keys", schema);
  tiledb_array_t *array = open_at("keys", TILEDB_WRITE, 1);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  char keys[64] = "onetwothreefour";
  uint64_t offsets[8] = {0, 3, 6, 11}, size = 15, offsets_size = 32, a_size = 16;
  int32_t a[8] = {1, 2, 3, 4};
  OK(tiledb_query_set_data_buffer(ctx, query, "key", keys, &size));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "key", offsets, &offsets_size));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &a_size));
  finish_write(query, array);

  array = open_at("keys", TILEDB_READ, 0);
  query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
  tiledb_subarray_t *subarray = NULL;
  const char points[] = "twofivefour";
  const uint64_t starts[] = {0, 3, 7};
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  OK(tiledb_subarray_add_point_ranges_var(ctx, subarray, 0, points, 11, starts, 3));
  uint64_t ranges = 0, low = 0, high = 0;
  OK(tiledb_subarray_get_range_num(ctx, subarray, 0, &ranges));
  OK(tiledb_subarray_get_range_var_size(ctx, subarray, 0, 1, &low, &high));
  printf("texts: %" PRIu64 " ranges, sizes %" PRIu64 " and %" PRIu64 "\n", ranges, low, high);
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  size = sizeof keys, offsets_size = sizeof offsets, a_size = sizeof a;
  OK(tiledb_query_set_data_buffer(ctx, query, "key", keys, &size));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "key", offsets, &offsets_size));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &a_size));
  OK(tiledb_query_submit(ctx, query));
  print_text("  keys", keys, size);
  print_u64("  offsets", offsets, offsets_size / 8);
  print_i32("  a", a, a_size / 4);
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);
}

int main(void) {
  begin();
  create_sparse("sparse");
  int32_t coordinates[40], values[40];
  for (int i = 0; i < 40; i++) coordinates[i] = 2 * i + 1, values[i] = i;
  write_sparse("sparse", 1, coordinates, values, 40);
  const int32_t some[] = {1, 7, 8, 33, 79}, none[] = {2, 4, 6}, one[] = {5};
  sparse("five points", some, 5);
  sparse("points without cells", none, 3);
  sparse("one point", one, 1);
  sparse("no points", one, 0);
  sparse("all points with cells", coordinates, 40);

  create_dense("dense");
  for (int i = 0; i < 16; i++) values[i] = i + 1;
  write_dense("dense", 1, TILEDB_ROW_MAJOR, (int32_t[]){1, 4, 1, 4}, values, 16);
  dense((int32_t[]){1, 3}, 2, (int32_t[]){2, 4}, 2);
  dense((int32_t[]){1, 2, 3, 4}, 4, (int32_t[]){1}, 1);
  texts();

  tiledb_array_t *array = open_at("sparse", TILEDB_READ, 0);
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  CODE("outside of the domain", tiledb_subarray_add_point_ranges(ctx, subarray, 0, (int32_t[]){101}, 1));
  CODE("no such dimension", tiledb_subarray_add_point_ranges(ctx, subarray, 1, one, 1));
  CODE("no subarray", tiledb_subarray_add_point_ranges(ctx, NULL, 0, one, 1));
  tiledb_subarray_free(&subarray);
  close_array(array);
  return end();
}
