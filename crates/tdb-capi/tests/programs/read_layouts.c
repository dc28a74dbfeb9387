/* Reads of a dense and of a sparse array in each layout. */
#include "check.h"

static void dense(tiledb_layout_t layout) {
  const char *word = NULL;
  const int32_t all[] = {1, 4, 1, 4}, part[] = {2, 3, 1, 3}, cell[] = {3, 3, 4, 4};
  OK(tiledb_layout_to_str(layout, &word));
  printf("dense, %s\n", word);
  print_dense("  all", "dense", 0, layout, all);
  print_dense("  part", "dense", 0, layout, part);
  print_dense("  cell", "dense", 0, layout, cell);
}

static void sparse(const char *uri, tiledb_layout_t layout, const int32_t *box) {
  int32_t d1[32], d2[32], a[32];
  uint64_t sizes[] = {sizeof d1, sizeof d2, sizeof a};
  const char *word = NULL;
  tiledb_array_t *array = open_at(uri, TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, layout);
  if (box != NULL) set_box(query, array, box, 2);
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "d2", d2, &sizes[1]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[2]));
  OK(tiledb_query_submit(ctx, query));
  OK(tiledb_layout_to_str(layout, &word));
  printf("%s, %s, %s: %s\n", uri, word, box == NULL ? "all" : "a box", status_of(query));
  print_i32("  d1", d1, sizes[0] / 4);
  print_i32("  d2", d2, sizes[1] / 4);
  print_i32("  a", a, sizes[2] / 4);
  tiledb_query_free(&query);
  close_array(array);
}

static void make(const char *uri, tiledb_layout_t tile, tiledb_layout_t cell) {
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_i32_domain(schema, 2, 1, 8, 4);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  if (cell != TILEDB_HILBERT) OK(tiledb_array_schema_set_tile_order(ctx, schema, tile));
  OK(tiledb_array_schema_set_cell_order(ctx, schema, cell));
  OK(tiledb_array_schema_set_capacity(ctx, schema, 2));
  create(uri, schema);
  int32_t d1[][5] = {{8, 1, 3, 5, 2}, {4, 1, 6, 7, 5}}, d2[][5] = {{8, 1, 6, 2, 7}, {4, 1, 6, 3, 8}};
  int32_t a[][5] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}};
  for (int i = 0; i < 2; i++) {
    uint64_t sizes[] = {sizeof d1[i], sizeof d2[i], sizeof a[i]};
    tiledb_array_t *array = open_at(uri, TILEDB_WRITE, 1 + i);
    tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
    OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1[i], &sizes[0]));
    OK(tiledb_query_set_data_buffer(ctx, query, "d2", d2[i], &sizes[1]));
    OK(tiledb_query_set_data_buffer(ctx, query, "a", a[i], &sizes[2]));
    finish_write(query, array);
  }
}

int main(void) {
  begin();
  create_dense("dense");
  int32_t values[16], patch[] = {100, 200, 300, 400};
  for (int i = 0; i < 16; i++) values[i] = i + 1;
  write_dense("dense", 1, TILEDB_ROW_MAJOR, (int32_t[]){1, 4, 1, 4}, values, 16);
  write_dense("dense", 2, TILEDB_ROW_MAJOR, (int32_t[]){2, 3, 2, 3}, patch, 4);
  dense(TILEDB_ROW_MAJOR);
  dense(TILEDB_COL_MAJOR);
  dense(TILEDB_GLOBAL_ORDER);
  print_dense("before the second write", "dense", 1, TILEDB_ROW_MAJOR, (int32_t[]){1, 4, 1, 4});
  print_dense("before the first write", "dense", 0, TILEDB_ROW_MAJOR, (int32_t[]){1, 1, 1, 4});

  make("rows", TILEDB_ROW_MAJOR, TILEDB_ROW_MAJOR);
  make("columns", TILEDB_COL_MAJOR, TILEDB_COL_MAJOR);
  make("mixed", TILEDB_COL_MAJOR, TILEDB_ROW_MAJOR);
  make("hilbert", TILEDB_ROW_MAJOR, TILEDB_HILBERT);
  const char *arrays[] = {"rows", "columns", "mixed", "hilbert"};
  const int32_t box[] = {1, 6, 2, 8}, nothing[] = {2, 2, 1, 1};
  for (size_t i = 0; i < COUNT(arrays); i++) {
    sparse(arrays[i], TILEDB_ROW_MAJOR, NULL);
    sparse(arrays[i], TILEDB_COL_MAJOR, NULL);
    sparse(arrays[i], TILEDB_GLOBAL_ORDER, NULL);
    sparse(arrays[i], TILEDB_ROW_MAJOR, box);
    sparse(arrays[i], TILEDB_GLOBAL_ORDER, box);
  }
  sparse("rows", TILEDB_ROW_MAJOR, nothing);
  sparse("rows", TILEDB_UNORDERED, nothing);

  tiledb_array_t *array = open_at("dense", TILEDB_READ, 0);
  tiledb_query_t *query = NULL;
  tiledb_layout_t layout;
  OK(tiledb_query_alloc(ctx, array, TILEDB_READ, &query));
  OK(tiledb_query_get_layout(ctx, query, &layout));
  printf("default is row-major: %d\n", layout == TILEDB_ROW_MAJOR);
  CODE("Hilbert", tiledb_query_set_layout(ctx, query, TILEDB_HILBERT));
  tiledb_query_free(&query);
  close_array(array);
  return end();
}
