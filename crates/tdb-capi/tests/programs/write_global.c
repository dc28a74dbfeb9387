/* Writes in global order: in pieces, of sparse and of dense arrays, and what is refused. */
#include "check.h"

static void submit(tiledb_query_t *query, int32_t *d1, int32_t *a, uint64_t count) {
  uint64_t sizes[] = {count * 4, count * 4};
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  int code = tiledb_query_submit(ctx, query);
  printf("  %" PRIu64 " cells: %d, %s\n", count, code, status_of(query));
}

static uint32_t fragments(const char *uri) {
  tiledb_fragment_info_t *info = NULL;
  uint32_t count = 0;
  OK(tiledb_fragment_info_alloc(ctx, uri, &info));
  OK(tiledb_fragment_info_load(ctx, info));
  OK(tiledb_fragment_info_get_fragment_num(ctx, info, &count));
  tiledb_fragment_info_free(&info);
  return count;
}

int main(void) {
  begin();
  create_sparse("array");
  int32_t d1[30], a[30];
  for (int i = 0; i < 30; i++) d1[i] = 3 * i + 1, a[i] = i;

  printf("sparse, in pieces\n");
  tiledb_array_t *array = open_at("array", TILEDB_WRITE, 1);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_GLOBAL_ORDER);
  submit(query, d1, a, 1);
  submit(query, d1 + 1, a + 1, 6);
  submit(query, d1 + 7, a + 7, 4);
  submit(query, d1 + 11, a + 11, 0);
  submit(query, d1 + 11, a + 11, 5);
  printf("  fragments before: %u\n", fragments("array"));
  OK(tiledb_query_finalize(ctx, query));
  printf("  finalized: %s, fragments: %u\n", status_of(query), fragments("array"));
  uint32_t written = 9;
  OK(tiledb_query_get_fragment_num(ctx, query, &written));
  printf("  written: %u\n", written);
  tiledb_query_free(&query);
  close_array(array);
  print_sparse("all pieces", "array", 0);

  printf("the last piece and the end at once\n");
  array = open_at("array", TILEDB_WRITE, 2);
  query = new_query(array, TILEDB_WRITE, TILEDB_GLOBAL_ORDER);
  submit(query, d1 + 16, a + 16, 3);
  uint64_t sizes[] = {8, 8};
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1 + 19, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a + 19, &sizes[1]));
  OK(tiledb_query_submit_and_finalize(ctx, query));
  printf("  %s, fragments: %u\n", status_of(query), fragments("array"));
  tiledb_query_free(&query);
  close_array(array);
  print_sparse("more", "array", 0);

  printf("refused\n");
  int32_t back[] = {5, 4}, twice[] = {6, 6}, later[] = {3};
  array = open_at("array", TILEDB_WRITE, 3);
  query = new_query(array, TILEDB_WRITE, TILEDB_GLOBAL_ORDER);
  submit(query, back, a, 2);
  tiledb_query_free(&query);
  query = new_query(array, TILEDB_WRITE, TILEDB_GLOBAL_ORDER);
  submit(query, twice, a, 2);
  tiledb_query_free(&query);
  query = new_query(array, TILEDB_WRITE, TILEDB_GLOBAL_ORDER);
  submit(query, d1 + 5, a, 2);
  submit(query, later, a, 1);
  tiledb_query_free(&query);
  printf("  fragments: %u\n", fragments("array"));

  /* A query that is not finalized leaves nothing that readers see. */
  query = new_query(array, TILEDB_WRITE, TILEDB_GLOBAL_ORDER);
  submit(query, d1 + 25, a + 25, 3);
  tiledb_query_free(&query);
  query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  CODE("submit and finalize of another layout", tiledb_query_submit_and_finalize(ctx, query));
  tiledb_query_free(&query);
  close_array(array);
  printf("fragments: %u\n", fragments("array"));

  printf("dense, in pieces of tiles\n");
  create_dense("dense");
  array = open_at("dense", TILEDB_WRITE, 1);
  query = new_query(array, TILEDB_WRITE, TILEDB_GLOBAL_ORDER);
  set_box(query, array, (int32_t[]){1, 4, 1, 2}, 2);
  uint64_t size = 16;
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &size));
  OK(tiledb_query_submit(ctx, query));
  printf("  %s\n", status_of(query));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a + 4, &size));
  OK(tiledb_query_submit(ctx, query));
  OK(tiledb_query_finalize(ctx, query));
  tiledb_query_free(&query);
  close_array(array);
  print_dense("  read", "dense", 0, TILEDB_ROW_MAJOR, (int32_t[]){1, 4, 1, 4});

  array = open_at("dense", TILEDB_WRITE, 2);
  query = new_query(array, TILEDB_WRITE, TILEDB_GLOBAL_ORDER);
  set_box(query, array, (int32_t[]){1, 2, 1, 4}, 2);
  size = 20;
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a + 10, &size));
  CODE("  more than a tile", tiledb_query_submit(ctx, query));
  CODE("  finalized with cells missing", tiledb_query_finalize(ctx, query));
  tiledb_query_free(&query);
  close_array(array);
  printf("  fragments: %u\n", fragments("dense"));
  return end();
}
