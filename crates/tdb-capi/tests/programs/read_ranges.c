/* Reads of several ranges, of numbers and of texts, dense and sparse. */
#include "check.h"

static void dense(const char *words, tiledb_layout_t layout, const int32_t rows[][2], int row_count,
                  const int32_t columns[][2], int column_count) {
  int32_t a[64];
  uint64_t size = sizeof a;
  tiledb_array_t *array = open_at("dense", TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, layout);
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  for (int i = 0; i < row_count; i++) {
    OK(tiledb_subarray_add_range(ctx, subarray, 0, &rows[i][0], &rows[i][1], NULL));
  }
  for (int i = 0; i < column_count; i++) {
    OK(tiledb_subarray_add_range_by_name(ctx, subarray, "d2", &columns[i][0], &columns[i][1], NULL));
  }
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &size));
  int code = tiledb_query_submit(ctx, query);
  printf("%s: %d", words, code);
  print_i32("", a, code == TILEDB_OK ? size / 4 : 0);
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);
}

static void sparse(const char *words, tiledb_layout_t layout, const int32_t ranges[][2], int count) {
  int32_t d1[64], a[64];
  uint64_t sizes[] = {sizeof d1, sizeof a};
  tiledb_array_t *array = open_at("sparse", TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, layout);
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  for (int i = 0; i < count; i++) {
    OK(tiledb_subarray_add_range(ctx, subarray, 0, &ranges[i][0], &ranges[i][1], NULL));
  }
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  int code = tiledb_query_submit(ctx, query);
  printf("%s: %d\n", words, code);
  print_i32("  d1", d1, code == TILEDB_OK ? sizes[0] / 4 : 0);
  print_i32("  a", a, code == TILEDB_OK ? sizes[1] / 4 : 0);
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);
}

static void texts(const char *words, const char *low, const char *high) {
  char keys[64];
  uint64_t offsets[16], size = sizeof keys, offsets_size = sizeof offsets;
  tiledb_array_t *array = open_at("keys", TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  int code = tiledb_subarray_add_range_var(ctx, subarray, 0, low, strlen(low), high, strlen(high));
  printf("%s: %d\n", words, code);
  if (code == TILEDB_OK) {
    OK(tiledb_query_set_subarray_t(ctx, query, subarray));
    OK(tiledb_query_set_data_buffer(ctx, query, "key", keys, &size));
    OK(tiledb_query_set_offsets_buffer(ctx, query, "key", offsets, &offsets_size));
    OK(tiledb_query_submit(ctx, query));
    print_text("  keys", keys, size);
    print_u64("  offsets", offsets, offsets_size / 8);
  }
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);
}

int main(void) {
  begin();
  create_dense("dense");
  int32_t values[32], coordinates[32];
  for (int i = 0; i < 16; i++) values[i] = i + 1;
  write_dense("dense", 1, TILEDB_ROW_MAJOR, (int32_t[]){1, 4, 1, 4}, values, 16);
  const int32_t ends[][2] = {{1, 1}, {4, 4}}, middle[][2] = {{2, 3}}, single[][2] = {{2, 2}};
  const int32_t adjacent[][2] = {{1, 2}, {3, 3}};
  dense("rows 1 and 4", TILEDB_ROW_MAJOR, ends, 2, middle, 1);
  dense("by columns", TILEDB_COL_MAJOR, ends, 2, middle, 1);
  dense("two by two", TILEDB_ROW_MAJOR, ends, 2, ends, 2);
  dense("two by two, by columns", TILEDB_COL_MAJOR, ends, 2, ends, 2);
  dense("adjacent", TILEDB_ROW_MAJOR, adjacent, 2, single, 1);
  dense("rows alone", TILEDB_ROW_MAJOR, ends, 2, NULL, 0);
  dense("no ranges", TILEDB_ROW_MAJOR, NULL, 0, NULL, 0);
  dense("in global order", TILEDB_GLOBAL_ORDER, middle, 1, middle, 1);
  dense("unordered", TILEDB_UNORDERED, ends, 2, middle, 1);

  create_sparse("sparse");
  for (int i = 0; i < 30; i++) coordinates[i] = 3 * i + 1, values[i] = i;
  write_sparse("sparse", 1, coordinates, values, 30);
  for (int i = 0; i < 5; i++) coordinates[i] = 10 * i + 4, values[i] = 100 + i;
  write_sparse("sparse", 2, coordinates, values, 5);
  /* Ranges that overlap or descend are left out: docs/correctness_issues.md, "Several ranges". */
  const int32_t three[][2] = {{1, 5}, {20, 30}, {85, 100}}, none[][2] = {{2, 3}, {5, 6}};
  const int32_t points[][2] = {{4, 4}, {5, 5}, {7, 7}, {44, 44}}, whole[][2] = {{1, 100}};
  sparse("three ranges", TILEDB_ROW_MAJOR, three, 3);
  sparse("three ranges, unordered", TILEDB_UNORDERED, three, 3);
  sparse("between cells", TILEDB_ROW_MAJOR, none, 2);
  sparse("points", TILEDB_ROW_MAJOR, points, 4);
  sparse("the whole domain", TILEDB_GLOBAL_ORDER, whole, 1);

  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_text_domain(schema, "key");
  create("keys", schema);
  tiledb_array_t *array = open_at("keys", TILEDB_WRITE, 1);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  char keys[] = "catadogbabirdapple";
  uint64_t offsets[] = {0, 3, 4, 7, 9, 13}, size = 18, offsets_size = sizeof offsets;
  OK(tiledb_query_set_data_buffer(ctx, query, "key", keys, &size));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "key", offsets, &offsets_size));
  finish_write(query, array);
  texts("from a to b", "a", "b");
  texts("from aa to bz", "aa", "bz");
  texts("cat alone", "cat", "cat");
  texts("from x to z", "x", "z");
  texts("from b to a", "b", "a");
  return end();
}
