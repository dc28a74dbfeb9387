/* Dense writes: row- and column-major, parts, several attributes, fill values. */
#include "check.h"

static const int32_t ALL[] = {1, 4, 1, 4};

static int attempt(uint64_t time, tiledb_layout_t layout, const int32_t *box, int32_t *values, uint64_t count) {
  tiledb_array_t *array = open_at("array", TILEDB_WRITE, time);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, layout);
  uint64_t size = count * 4;
  if (box != NULL) set_box(query, array, box, 2);
  OK(tiledb_query_set_data_buffer(ctx, query, "a", values, &size));
  int code = tiledb_query_submit(ctx, query);
  tiledb_query_free(&query);
  close_array(array);
  return code;
}

int main(void) {
  begin();
  create_dense("array");
  int32_t values[17];
  for (int i = 0; i < 17; i++) values[i] = i + 1;
  print_dense("unwritten", "array", 0, TILEDB_ROW_MAJOR, ALL);
  write_dense("array", 1, TILEDB_ROW_MAJOR, (int32_t[]){2, 3, 1, 3}, values, 6);
  print_dense("a part", "array", 0, TILEDB_ROW_MAJOR, ALL);
  write_dense("array", 2, TILEDB_COL_MAJOR, (int32_t[]){1, 3, 3, 4}, values + 10, 6);
  print_dense("another, by columns", "array", 0, TILEDB_ROW_MAJOR, ALL);
  write_dense("array", 3, TILEDB_ROW_MAJOR, (int32_t[]){4, 4, 4, 4}, values, 1);
  print_dense("a cell", "array", 0, TILEDB_ROW_MAJOR, ALL);
  print_dense("by columns", "array", 0, TILEDB_COL_MAJOR, ALL);
  print_dense("at 1", "array", 1, TILEDB_ROW_MAJOR, ALL);
  CODE("too few cells", attempt(4, TILEDB_ROW_MAJOR, ALL, values, 15));
  CODE("too many cells", attempt(4, TILEDB_ROW_MAJOR, ALL, values, 17));
  CODE("the whole array", attempt(4, TILEDB_ROW_MAJOR, NULL, values, 16));
  print_dense("written whole", "array", 0, TILEDB_ROW_MAJOR, ALL);

  /* Several ranges cannot be written. */
  tiledb_array_t *array = open_at("array", TILEDB_WRITE, 5);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
  tiledb_subarray_t *subarray = NULL;
  int32_t ends[] = {1, 1, 3, 3};
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  OK(tiledb_subarray_add_range(ctx, subarray, 0, &ends[0], &ends[1], NULL));
  int code = tiledb_subarray_add_range(ctx, subarray, 0, &ends[2], &ends[3], NULL);
  CODE("a second range", code);
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);

  /* Several attributes, with fill values of their own. */
  tiledb_array_schema_t *schema = new_schema(TILEDB_DENSE);
  tiledb_attribute_t *attribute = NULL;
  set_i32_domain(schema, 2, 1, 4, 3);
  OK(tiledb_attribute_alloc(ctx, "x", TILEDB_INT32, &attribute));
  int32_t minus[] = {-1, -2};
  OK(tiledb_attribute_set_cell_val_num(ctx, attribute, 2));
  OK(tiledb_attribute_set_fill_value(ctx, attribute, minus, sizeof minus));
  OK(tiledb_array_schema_add_attribute(ctx, schema, attribute));
  tiledb_attribute_free(&attribute);
  add_attribute(schema, "y", TILEDB_FLOAT64, 1, 0);
  create("two", schema);
  double reals[4] = {0.5, 1.5, 2.5, 3.5}, read_reals[16];
  int32_t pairs[8] = {1, 2, 3, 4, 5, 6, 7, 8}, read_pairs[32];
  array = open_at("two", TILEDB_WRITE, 1);
  query = new_query(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
  set_box(query, array, (int32_t[]){3, 4, 2, 3}, 2);
  uint64_t sizes[] = {sizeof pairs, sizeof reals};
  OK(tiledb_query_set_data_buffer(ctx, query, "x", pairs, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "y", reals, &sizes[1]));
  finish_write(query, array);
  array = open_at("two", TILEDB_READ, 0);
  query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  set_box(query, array, (int32_t[]){2, 4, 2, 4}, 2);
  sizes[0] = sizeof read_pairs, sizes[1] = sizeof read_reals;
  OK(tiledb_query_set_data_buffer(ctx, query, "x", read_pairs, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "y", read_reals, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  print_i32("x", read_pairs, sizes[0] / 4);
  print_f64("y", read_reals, sizes[1] / 8);
  tiledb_query_free(&query);

  /* Coordinates of a dense array can be read. */
  int32_t d1[16], d2[16];
  query = new_query(array, TILEDB_READ, TILEDB_COL_MAJOR);
  set_box(query, array, (int32_t[]){2, 3, 2, 4}, 2);
  sizes[0] = sizes[1] = sizeof d1;
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "d2", d2, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  print_i32("d1", d1, sizes[0] / 4);
  print_i32("d2", d2, sizes[1] / 4);
  tiledb_query_free(&query);
  close_array(array);
  return end();
}
