/* Unordered writes: order, duplicates, checks, empty writes, several submits. */
#include "check.h"

static int attempt(const char *uri, uint64_t time, const char *key, const char *value, int32_t *d1, int32_t *a, uint64_t count) {
  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  OK(tiledb_config_alloc(&config, &error));
  if (key != NULL) OK(tiledb_config_set(config, key, value, &error));
  tiledb_array_t *array = open_at(uri, TILEDB_WRITE, time);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  uint64_t sizes[] = {count * 4, count * 4};
  OK(tiledb_query_set_config(ctx, query, config));
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  int code = tiledb_query_submit(ctx, query);
  if (code == TILEDB_OK) code = tiledb_query_finalize(ctx, query);
  tiledb_query_free(&query);
  close_array(array);
  tiledb_config_free(&config);
  return code;
}

int main(void) {
  begin();
  create_sparse("array");
  int32_t d1[] = {30, 2, 77, 15, 1}, a[] = {1, 2, 3, 4, 5};
  write_sparse("array", 1, d1, a, 5);
  print_sparse("as written", "array", 0);
  int32_t again[] = {2, 78}, new_values[] = {20, 30};
  write_sparse("array", 2, again, new_values, 2);
  print_sparse("overwritten", "array", 0);
  print_sparse("before that", "array", 1);

  int32_t twice[] = {5, 6, 5}, values[] = {1, 2, 3};
  CODE("a coordinate twice", attempt("array", 3, NULL, NULL, twice, values, 3));
  CODE("  without the check", attempt("array", 4, "sm.check_coord_dups", "false", twice, values, 1));
  int32_t equal[] = {7, 7}, same[] = {9, 9};
  CODE("  removed", attempt("array", 5, "sm.dedup_coords", "true", equal, same, 2));
  print_sparse("after it", "array", 0);
  int32_t outside[] = {1, 101}, below[] = {0};
  CODE("above the domain", attempt("array", 6, NULL, NULL, outside, values, 2));
  CODE("below the domain", attempt("array", 6, NULL, NULL, below, values, 1));

  /* A write of no cells. */
  CODE("no cells", attempt("array", 7, NULL, NULL, d1, a, 0));
  print_sparse("as before", "array", 0);

  /* Buffers that lack. */
  tiledb_array_t *array = open_at("array", TILEDB_WRITE, 8);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  uint64_t sizes[] = {8, 4};
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  CODE("without an attribute", tiledb_query_submit(ctx, query));
  tiledb_query_free(&query);
  /* Buffers of different numbers of cells, or half a cell, are left out: libtiledb 2.30 reads past
   * the end of the shorter one. */
  query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  CODE("without coordinates", tiledb_query_submit(ctx, query));
  tiledb_query_free(&query);

  /* Each submit writes a fragment. */
  query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  int32_t more[] = {90, 91, 92, 93};
  sizes[0] = sizes[1] = 8;
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", more, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  uint32_t written = 9;
  OK(tiledb_query_get_fragment_num(ctx, query, &written));
  printf("fragments: %u\n", written);
  tiledb_query_free(&query);
  CODE("a read of what is open to be written", tiledb_query_alloc(ctx, array, TILEDB_READ, &query));
  close_array(array);
  print_sparse("in the end", "array", 0);

  /* An array that allows duplicates keeps them. */
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_i32_domain(schema, 1, 1, 100, 10);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  OK(tiledb_array_schema_set_allows_dups(ctx, schema, 1));
  create("dups", schema);
  int32_t equal_values[] = {4, 4, 4};
  int32_t all_equal[] = {8, 8, 8};
  CODE("duplicates", attempt("dups", 1, NULL, NULL, all_equal, equal_values, 3));
  CODE("more", attempt("dups", 2, NULL, NULL, all_equal, equal_values, 2));
  print_sparse("duplicates", "dups", 0);

  /* Dense arrays have no unordered writes. */
  create_dense("dense");
  array = open_at("dense", TILEDB_WRITE, 1);
  OK(tiledb_query_alloc(ctx, array, TILEDB_WRITE, &query));
  CODE("unordered in a dense array", tiledb_query_set_layout(ctx, query, TILEDB_UNORDERED));
  tiledb_query_free(&query);
  close_array(array);
  return end();
}
