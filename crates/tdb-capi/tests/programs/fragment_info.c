/* Fragments of an array: numbers, times, domains, rectangles, schemas, what can be vacuumed. */
#include "check.h"

static void show(tiledb_fragment_info_t *info) {
  uint32_t count = 0, vacuum = 0, loose = 0;
  uint64_t total = 0;
  OK(tiledb_fragment_info_get_fragment_num(ctx, info, &count));
  OK(tiledb_fragment_info_get_total_cell_num(ctx, info, &total));
  OK(tiledb_fragment_info_get_to_vacuum_num(ctx, info, &vacuum));
  OK(tiledb_fragment_info_get_unconsolidated_metadata_num(ctx, info, &loose));
  printf("%u fragments, %" PRIu64 " cells, %u to vacuum, %u with metadata of their own\n", count, total, vacuum, loose);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t cells = 0, first = 0, last = 0, rectangles = 0, bytes = 0;
    int32_t dense = 9, sparse = 9, consolidated = 9, bounds[2] = {77, 77}, named[2] = {77, 77};
    uint32_t version = 0;
    const char *uri = NULL, *schema_name = NULL;
    tiledb_string_t *name = NULL;
    OK(tiledb_fragment_info_get_cell_num(ctx, info, i, &cells));
    OK(tiledb_fragment_info_get_timestamp_range(ctx, info, i, &first, &last));
    OK(tiledb_fragment_info_get_dense(ctx, info, i, &dense));
    OK(tiledb_fragment_info_get_sparse(ctx, info, i, &sparse));
    OK(tiledb_fragment_info_get_version(ctx, info, i, &version));
    OK(tiledb_fragment_info_has_consolidated_metadata(ctx, info, i, &consolidated));
    OK(tiledb_fragment_info_get_fragment_size(ctx, info, i, &bytes));
    OK(tiledb_fragment_info_get_fragment_uri(ctx, info, i, &uri));
    OK(tiledb_fragment_info_get_fragment_name_v2(ctx, info, i, &name));
    OK(tiledb_fragment_info_get_array_schema_name(ctx, info, i, &schema_name));
    OK(tiledb_fragment_info_get_non_empty_domain_from_index(ctx, info, i, 0, bounds));
    OK(tiledb_fragment_info_get_non_empty_domain_from_name(ctx, info, i, "d1", named));
    printf("  cells %" PRIu64 ", times %" PRIu64 " to %" PRIu64 ", dense %d, sparse %d, version %u, consolidated %d\n",
           cells, first, last, dense, sparse, version, consolidated);
    const char *view = NULL;
    size_t length = 0;
    OK(tiledb_string_view(name, &view, &length));
    printf("  has bytes %d, URI ends with its name %d, named schema %d\n", bytes > 0,
           strlen(uri) > length && strncmp(uri + strlen(uri) - length, view, length) == 0, strlen(schema_name) > 0);
    OK(tiledb_string_free(&name));
    printf("  domain %d to %d, %d to %d\n", bounds[0], bounds[1], named[0], named[1]);
    OK(tiledb_fragment_info_get_mbr_num(ctx, info, i, &rectangles));
    printf("  rectangles:");
    for (uint32_t r = 0; r < rectangles; r++) {
      OK(tiledb_fragment_info_get_mbr_from_index(ctx, info, i, r, 0, bounds));
      OK(tiledb_fragment_info_get_mbr_from_name(ctx, info, i, r, "d1", named));
      printf(" %d to %d%s", bounds[0], bounds[1], bounds[0] == named[0] ? "" : " (differs)");
    }
    printf("\n");
    tiledb_array_schema_t *schema = NULL;
    uint64_t capacity = 0;
    OK(tiledb_fragment_info_get_array_schema(ctx, info, i, &schema));
    OK(tiledb_array_schema_get_capacity(ctx, schema, &capacity));
    printf("  capacity %" PRIu64 "\n", capacity);
    tiledb_array_schema_free(&schema);
  }
}

static tiledb_fragment_info_t *load(const char *uri) {
  tiledb_fragment_info_t *info = NULL;
  OK(tiledb_fragment_info_alloc(ctx, uri, &info));
  OK(tiledb_fragment_info_load(ctx, info));
  return info;
}

static void texts(void) {
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_text_domain(schema, "key");
  OK(tiledb_array_schema_set_capacity(ctx, schema, 2));
  create("keys", schema);
  tiledb_array_t *array = open_at("keys", TILEDB_WRITE, 1);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  char keys[] = "catadogbirdemu", low[16], high[16];
  uint64_t offsets[] = {0, 3, 4, 7, 11}, size = 14, offsets_size = sizeof offsets, low_size = 0, high_size = 0, count = 0;
  OK(tiledb_query_set_data_buffer(ctx, query, "key", keys, &size));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "key", offsets, &offsets_size));
  finish_write(query, array);
  tiledb_fragment_info_t *info = load("keys");
  OK(tiledb_fragment_info_get_non_empty_domain_var_size_from_index(ctx, info, 0, 0, &low_size, &high_size));
  OK(tiledb_fragment_info_get_non_empty_domain_var_from_index(ctx, info, 0, 0, low, high));
  print_text("from", low, low_size);
  print_text("to", high, high_size);
  OK(tiledb_fragment_info_get_non_empty_domain_var_size_from_name(ctx, info, 0, "key", &low_size, &high_size));
  OK(tiledb_fragment_info_get_non_empty_domain_var_from_name(ctx, info, 0, "key", low, high));
  OK(tiledb_fragment_info_get_mbr_num(ctx, info, 0, &count));
  for (uint32_t i = 0; i < count; i++) {
    OK(tiledb_fragment_info_get_mbr_var_size_from_index(ctx, info, 0, i, 0, &low_size, &high_size));
    OK(tiledb_fragment_info_get_mbr_var_from_index(ctx, info, 0, i, 0, low, high));
    print_text("  rectangle from", low, low_size);
    print_text("  to", high, high_size);
    OK(tiledb_fragment_info_get_mbr_var_size_from_name(ctx, info, 0, i, "key", &low_size, &high_size));
    OK(tiledb_fragment_info_get_mbr_var_from_name(ctx, info, 0, i, "key", low, high));
  }
  CODE("texts as numbers", tiledb_fragment_info_get_non_empty_domain_from_index(ctx, info, 0, 0, low));
  tiledb_fragment_info_free(&info);
}

int main(void) {
  begin();
  create_sparse("sparse");
  tiledb_fragment_info_t *info = load("sparse");
  show(info);
  int32_t d1[10], a[10];
  for (int i = 0; i < 10; i++) d1[i] = 7 * i + 1, a[i] = i;
  write_sparse("sparse", 1, d1, a, 10);
  write_sparse("sparse", 3, d1 + 4, a, 2);
  printf("not loaded again\n");
  show(info);
  OK(tiledb_fragment_info_load(ctx, info));
  show(info);
  tiledb_fragment_info_free(&info);
  OK(tiledb_array_consolidate(ctx, "sparse", NULL));
  info = load("sparse");
  show(info);
  const char *uri = NULL;
  OK(tiledb_fragment_info_get_to_vacuum_uri(ctx, info, 0, &uri));
  printf("to vacuum: %d\n", strstr(uri, "__1_1_") != NULL);
  CODE("an index too many", tiledb_fragment_info_get_to_vacuum_uri(ctx, info, 2, &uri));
  tiledb_fragment_info_free(&info);
  OK(tiledb_array_vacuum(ctx, "sparse", NULL));
  info = load("sparse");
  show(info);

  uint64_t cells = 0;
  int32_t bounds[2];
  CODE("a fragment too many", tiledb_fragment_info_get_cell_num(ctx, info, 1, &cells));
  CODE("a dimension too many", tiledb_fragment_info_get_non_empty_domain_from_index(ctx, info, 0, 1, bounds));
  CODE("an unknown dimension", tiledb_fragment_info_get_non_empty_domain_from_name(ctx, info, 0, "no", bounds));
  CODE("a rectangle too many", tiledb_fragment_info_get_mbr_from_index(ctx, info, 0, 99, 0, bounds));
  CODE("numbers as texts", tiledb_fragment_info_get_non_empty_domain_var_from_index(ctx, info, 0, 0, bounds, bounds));
  tiledb_config_t *config = NULL;
  OK(tiledb_fragment_info_get_config(ctx, info, &config));
  printf("configuration: %d\n", config != NULL);
  CODE("a configuration after a load", tiledb_fragment_info_set_config(ctx, info, config));
  tiledb_string_t *dump = NULL;
  const char *view = NULL;
  size_t length = 0;
  OK(tiledb_fragment_info_dump_str(ctx, info, &dump));
  OK(tiledb_string_view(dump, &view, &length));
  char *text = strndup(view, length);
  printf("dump: number %d, fragment %d\n", strstr(text, "Fragment num: 1") != NULL, strstr(text, "Fragment #1") != NULL);
  free(text);
  OK(tiledb_string_free(&dump));
  FILE *file = fopen("dump.txt", "w");
  OK(tiledb_fragment_info_dump(ctx, info, file));
  printf("dumped: %d\n", ftell(file) > 0);
  fclose(file);
  tiledb_config_free(&config);
  tiledb_fragment_info_free(&info);

  create_dense("dense");
  write_dense("dense", 5, TILEDB_ROW_MAJOR, (int32_t[]){2, 3, 1, 2}, a, 4);
  info = load("dense");
  show(info);
  tiledb_fragment_info_free(&info);
  texts();

  OK(tiledb_fragment_info_alloc(ctx, "missing", &info));
  CODE("load of no array", tiledb_fragment_info_load(ctx, info));
  uint32_t count = 9;
  CODE("number without a load", tiledb_fragment_info_get_fragment_num(ctx, info, &count));
  printf("fragments: %u\n", count);
  tiledb_fragment_info_free(&info);
  CODE("no name", tiledb_fragment_info_alloc(ctx, NULL, &info));
  CODE("no handle", tiledb_fragment_info_load(ctx, NULL));
  return end();
}
