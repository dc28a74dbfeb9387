/* Reads the array that is named, a dense one of 16 cells of int32, and prints their number and sum. */
#include <stdint.h>
#include <stdio.h>
#include <tiledb/tiledb.h>

#define OK(call) do { if ((call) != TILEDB_OK) { fprintf(stderr, "%s failed\n", #call); return 1; } } while (0)

int main(int count, char **words) {
  if (count != 2) return 2;
  tiledb_ctx_t *ctx;
  OK(tiledb_ctx_alloc(NULL, &ctx));
  tiledb_array_t *array;
  OK(tiledb_array_alloc(ctx, words[1], &array));
  OK(tiledb_array_open(ctx, array, TILEDB_READ));
  tiledb_query_t *query;
  OK(tiledb_query_alloc(ctx, array, TILEDB_READ, &query));
  tiledb_subarray_t *box;
  OK(tiledb_subarray_alloc(ctx, array, &box));
  int32_t ends[] = {1, 4, 1, 4};
  OK(tiledb_subarray_set_subarray(ctx, box, ends));
  OK(tiledb_query_set_subarray_t(ctx, query, box));
  OK(tiledb_query_set_layout(ctx, query, TILEDB_ROW_MAJOR));
  int32_t cells[16] = {0};
  uint64_t size = sizeof cells;
  OK(tiledb_query_set_data_buffer(ctx, query, "a", cells, &size));
  OK(tiledb_query_submit(ctx, query));
  int sum = 0;
  int found = (int)(size / sizeof cells[0]);
  for (int at = 0; at < found; at++) sum += cells[at];
  printf("%d cells, %d\n", found, sum);
  tiledb_subarray_free(&box);
  tiledb_query_free(&query);
  OK(tiledb_array_close(ctx, array));
  tiledb_array_free(&array);
  tiledb_ctx_free(&ctx);
  return 0;
}
