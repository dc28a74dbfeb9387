/* Reads whose buffers are too small: pieces until the query is complete. How many cells a piece has
 * is the library's choice; that none is lost or repeated is not. */
#include "check.h"

static void pieces(const char *words, const char *uri, tiledb_layout_t layout, size_t cells) {
  int32_t d1[64], a[64];
  uint64_t total = 0;
  int64_t sum = 0, weighted = 0;
  int rounds = 0, ordered = 1, last = 0;
  tiledb_query_status_t status;
  tiledb_array_t *array = open_at(uri, TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, layout);
  do {
    uint64_t sizes[] = {cells * 4, cells * 4};
    OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
    OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
    OK(tiledb_query_submit(ctx, query));
    OK(tiledb_query_get_status(ctx, query, &status));
    if (sizes[0] != sizes[1] || sizes[0] > cells * 4) printf("  sizes differ\n");
    for (uint64_t i = 0; i < sizes[0] / 4; i++, total++) {
      sum += a[i];
      weighted += (int64_t)d1[i] * a[i];
      ordered &= d1[i] > last;
      last = d1[i];
    }
  } while (status == TILEDB_INCOMPLETE && ++rounds < 1000);
  printf("%s: %" PRIu64 " cells, sum %" PRId64 ", %" PRId64 ", ordered %d, in pieces %d, %s\n", words,
         total, sum, weighted, ordered, rounds > 0, status_of(query));
  tiledb_query_free(&query);
  close_array(array);
}

static void dense_pieces(tiledb_layout_t layout, size_t cells) {
  int32_t a[64];
  uint64_t total = 0;
  int64_t weighted = 0;
  int rounds = 0;
  tiledb_query_status_t status;
  const int32_t box[] = {1, 4, 1, 4};
  tiledb_array_t *array = open_at("dense", TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, layout);
  set_box(query, array, box, 2);
  uint64_t size = cells * 4;
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &size));
  do {
    size = cells * 4;
    OK(tiledb_query_submit(ctx, query));
    OK(tiledb_query_get_status(ctx, query, &status));
    for (uint64_t i = 0; i < size / 4; i++) weighted += (int64_t)++total * a[i];
  } while (status == TILEDB_INCOMPLETE && ++rounds < 1000);
  printf("dense, %zu cells at a time: %" PRIu64 " cells, %" PRId64 ", in pieces %d\n", cells, total,
         weighted, rounds > 0);
  tiledb_query_free(&query);
  close_array(array);
}

/* Buffers that cannot hold one cell: the query says so, and goes on with larger ones. */
static void too_small(const char *uri) {
  int32_t d1[64], a[64];
  uint64_t sizes[] = {2, 2};
  tiledb_query_status_details_t details;
  tiledb_array_t *array = open_at(uri, TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  OK(tiledb_query_get_status_details(ctx, query, &details));
  int32_t has = 9;
  OK(tiledb_query_has_results(ctx, query, &has));
  printf("too small: %s, sizes %" PRIu64 " and %" PRIu64 ", user buffers %d, has results %d\n",
         status_of(query), sizes[0], sizes[1],
         details.incomplete_reason == TILEDB_REASON_USER_BUFFER_SIZE, has);
  sizes[0] = sizes[1] = sizeof d1;
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  OK(tiledb_query_get_status_details(ctx, query, &details));
  printf("larger: %s, %" PRIu64 " cells, no reason %d\n", status_of(query), sizes[0] / 4,
         details.incomplete_reason == TILEDB_REASON_NONE);
  tiledb_query_free(&query);
  close_array(array);
}

int main(void) {
  begin();
  create_sparse("sparse");
  int32_t coordinates[40], values[40];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 40; i++) {
      coordinates[i] = 1 + (i * 7 + round) % 80;
      values[i] = i + 100 * round;
    }
    write_sparse("sparse", 1 + round, coordinates, values, 40);
  }
  const size_t sizes[] = {1, 2, 3, 5, 8, 13, 21, 40, 60};
  for (size_t i = 0; i < COUNT(sizes); i++) {
    printf("%zu cells at a time\n", sizes[i]);
    pieces("  row-major", "sparse", TILEDB_ROW_MAJOR, sizes[i]);
    pieces("  global", "sparse", TILEDB_GLOBAL_ORDER, sizes[i]);
  }
  too_small("sparse");

  create_dense("dense");
  for (int i = 0; i < 16; i++) values[i] = i + 1;
  write_dense("dense", 1, TILEDB_ROW_MAJOR, (int32_t[]){1, 4, 1, 4}, values, 16);
  const size_t of_dense[] = {1, 2, 4, 5, 8, 15, 16, 64};
  for (size_t i = 0; i < COUNT(of_dense); i++) dense_pieces(TILEDB_ROW_MAJOR, of_dense[i]);
  for (size_t i = 0; i < COUNT(of_dense); i++) dense_pieces(TILEDB_COL_MAJOR, of_dense[i]);
  return end();
}
