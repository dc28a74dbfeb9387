/* Time: cells of sparse and dense arrays at each moment, from a start, and after a reopen. */
#include "check.h"

static void from(const char *words, uint64_t start, uint64_t stop) {
  int32_t d1[32], a[32];
  uint64_t sizes[] = {sizeof d1, sizeof a};
  tiledb_array_t *array = NULL;
  OK(tiledb_array_alloc(ctx, "sparse", &array));
  OK(tiledb_array_set_open_timestamp_start(ctx, array, start));
  OK(tiledb_array_set_open_timestamp_end(ctx, array, stop));
  int code = tiledb_array_open(ctx, array, TILEDB_READ);
  printf("%s: %d\n", words, code);
  if (code == TILEDB_OK) {
    tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
    OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
    OK(tiledb_query_submit(ctx, query));
    print_i32("  d1", d1, sizes[0] / 4);
    print_i32("  a", a, sizes[1] / 4);
    tiledb_query_free(&query);
    OK(tiledb_array_close(ctx, array));
  }
  tiledb_array_free(&array);
}

/* A column of the times of cells. */
static void times(const char *uri) {
  int32_t d1[32];
  uint64_t stamps[32], sizes[] = {sizeof d1, sizeof stamps};
  tiledb_array_t *array = open_at(uri, TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  int code = tiledb_query_set_data_buffer(ctx, query, tiledb_timestamps(), stamps, &sizes[1]);
  if (code == TILEDB_OK) code = tiledb_query_submit(ctx, query);
  printf("times of cells: %d\n", code);
  if (code == TILEDB_OK) {
    print_i32("  d1", d1, sizes[0] / 4);
    print_u64("  times", stamps, sizes[1] / 8);
  }
  tiledb_query_free(&query);
  close_array(array);
}

int main(void) {
  begin();
  create_sparse("sparse");
  for (int32_t i = 0; i < 4; i++) {
    int32_t d1[] = {1 + i, 2 + i, 50}, a[] = {10 * i, 10 * i + 1, i};
    write_sparse("sparse", 10 * (i + 1), d1, a, 3);
  }
  const uint64_t moments[] = {9, 10, 19, 20, 35, 40, 1000};
  char words[40];
  for (size_t i = 0; i < COUNT(moments); i++) {
    snprintf(words, sizeof words, "at %" PRIu64, moments[i]);
    print_sparse(words, "sparse", moments[i]);
  }
  from("from 15 to 35", 15, 35);
  from("from 20 to 20", 20, 20);
  from("from 41 to 50", 41, 50);
  from("from 30 to 20", 30, 20);
  times("sparse");
  OK(tiledb_array_consolidate(ctx, "sparse", NULL));
  OK(tiledb_array_vacuum(ctx, "sparse", NULL));
  for (size_t i = 0; i < COUNT(moments); i++) {
    snprintf(words, sizeof words, "consolidated, at %" PRIu64, moments[i]);
    print_sparse(words, "sparse", moments[i]);
  }
  from("from 15 to 35", 15, 35);
  times("sparse");

  create_dense("dense");
  int32_t values[] = {1, 2, 3, 4}, newer[] = {5, 6, 7, 8};
  const int32_t box[] = {1, 2, 1, 2}, all[] = {1, 3, 1, 3};
  write_dense("dense", 5, TILEDB_ROW_MAJOR, box, values, 4);
  write_dense("dense", 7, TILEDB_ROW_MAJOR, (int32_t[]){2, 3, 2, 3}, newer, 4);
  for (uint64_t time = 4; time <= 8; time += 1) {
    snprintf(words, sizeof words, "dense, at %" PRIu64, time);
    print_dense(words, "dense", time, TILEDB_ROW_MAJOR, all);
  }

  /* An open array does not see what is written later, until it is opened again. */
  tiledb_array_t *array = open_at("sparse", TILEDB_READ, 0);
  int32_t d1[] = {99}, a[] = {990}, bounds[2], empty = 9;
  write_sparse("sparse", 50, d1, a, 1);
  OK(tiledb_array_get_non_empty_domain(ctx, array, bounds, &empty));
  print_i32("before it is opened again", bounds, 2);
  OK(tiledb_array_reopen(ctx, array));
  OK(tiledb_array_get_non_empty_domain(ctx, array, bounds, &empty));
  print_i32("after it", bounds, 2);
  close_array(array);
  return end();
}
