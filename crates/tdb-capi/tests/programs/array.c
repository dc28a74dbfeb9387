/* Arrays: open and close, times, types of queries, non-empty domains, deletion. */
#include "check.h"

static void opened(const char *words, tiledb_array_t *array) {
  int32_t open = 9;
  OK(tiledb_array_is_open(ctx, array, &open));
  printf("%s: open %d\n", words, open);
}

static void domain_of(const char *words, const char *uri, uint64_t time) {
  tiledb_array_t *array = open_at(uri, TILEDB_READ, time);
  int32_t box[2] = {77, 77}, one[2] = {77, 77}, empty = 9, also = 9;
  OK(tiledb_array_get_non_empty_domain(ctx, array, box, &empty));
  OK(tiledb_array_get_non_empty_domain_from_index(ctx, array, 0, one, &also));
  printf("%s: empty %d, %d", words, empty, also);
  if (!empty) printf(", %d to %d, %d to %d", box[0], box[1], one[0], one[1]);
  OK(tiledb_array_get_non_empty_domain_from_name(ctx, array, "d1", one, &also));
  if (!also) printf(", %d to %d", one[0], one[1]);
  printf("\n");
  CODE("  an index too many", tiledb_array_get_non_empty_domain_from_index(ctx, array, 1, one, &also));
  CODE("  an unknown name", tiledb_array_get_non_empty_domain_from_name(ctx, array, "no", one, &also));
  CODE("  as texts", tiledb_array_get_non_empty_domain_var_from_index(ctx, array, 0, one, one, &also));
  close_array(array);
}

static void texts(void) {
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_text_domain(schema, "key");
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  create("keys", schema);
  tiledb_array_t *array = open_at("keys", TILEDB_WRITE, 1);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  char keys[] = "pearfig";
  uint64_t offsets[] = {0, 4}, offsets_size = sizeof offsets, keys_size = 7, size = 8;
  int32_t values[] = {1, 2};
  OK(tiledb_query_set_data_buffer(ctx, query, "key", keys, &keys_size));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "key", offsets, &offsets_size));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", values, &size));
  finish_write(query, array);

  array = open_at("keys", TILEDB_READ, 0);
  uint64_t low_size = 0, high_size = 0;
  int32_t empty = 9;
  char low[8], high[8];
  OK(tiledb_array_get_non_empty_domain_var_size_from_index(ctx, array, 0, &low_size, &high_size, &empty));
  printf("texts: empty %d, sizes %" PRIu64 " and %" PRIu64 "\n", empty, low_size, high_size);
  OK(tiledb_array_get_non_empty_domain_var_from_index(ctx, array, 0, low, high, &empty));
  print_text("from", low, low_size);
  print_text("to", high, high_size);
  OK(tiledb_array_get_non_empty_domain_var_size_from_name(ctx, array, "key", &low_size, &high_size, &empty));
  OK(tiledb_array_get_non_empty_domain_var_from_name(ctx, array, "key", low, high, &empty));
  print_text("from", low, low_size);
  CODE("texts as numbers", tiledb_array_get_non_empty_domain_from_name(ctx, array, "key", low, &empty));
  close_array(array);
}

int main(void) {
  begin();
  create_sparse("array");
  domain_of("new", "array", 0);
  int32_t coordinates[] = {30, 5, 40}, values[] = {1, 2, 3}, late[] = {90};
  write_sparse("array", 10, coordinates, values, 3);
  write_sparse("array", 20, late, values, 1);
  domain_of("of all", "array", 0);
  domain_of("at 10", "array", 10);
  domain_of("at 9", "array", 9);
  texts();

  tiledb_array_t *array = NULL;
  tiledb_query_type_t type = TILEDB_DELETE;
  const char *uri = NULL;
  uint64_t time = 77;
  OK(tiledb_array_alloc(ctx, "array", &array));
  opened("allocated", array);
  CODE("schema of a closed array", tiledb_array_get_schema(ctx, array, NULL));
  CODE("reopen of a closed array", tiledb_array_reopen(ctx, array));
  CODE("close of a closed array", tiledb_array_close(ctx, array));
  OK(tiledb_array_set_open_timestamp_start(ctx, array, 11));
  OK(tiledb_array_set_open_timestamp_end(ctx, array, 30));
  OK(tiledb_array_open(ctx, array, TILEDB_READ));
  opened("opened", array);
  OK(tiledb_array_get_query_type(ctx, array, &type));
  printf("to read: %d\n", type == TILEDB_READ);
  OK(tiledb_array_get_open_timestamp_start(ctx, array, &time));
  printf("from %" PRIu64, time);
  OK(tiledb_array_get_open_timestamp_end(ctx, array, &time));
  printf(" to %" PRIu64 "\n", time);
  int32_t box[2], empty = 9;
  OK(tiledb_array_get_non_empty_domain(ctx, array, box, &empty));
  print_i32("from 11 to 30", box, 2);
  CODE("opened twice", tiledb_array_open(ctx, array, TILEDB_READ));
  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  const char *value = NULL;
  OK(tiledb_array_get_config(ctx, array, &config));
  OK(tiledb_config_get(config, "sm.consolidation.mode", &value, &error));
  printf("configuration: %s\n", value);
  CODE("a configuration for an open array", tiledb_array_set_config(ctx, array, config));
  tiledb_config_free(&config);
  OK(tiledb_array_get_uri(ctx, array, &uri));
  printf("ends with its name: %d\n", strcmp(uri + strlen(uri) - 5, "array") == 0);
  OK(tiledb_array_set_open_timestamp_start(ctx, array, 0));
  OK(tiledb_array_set_open_timestamp_end(ctx, array, 15));
  OK(tiledb_array_reopen(ctx, array));
  OK(tiledb_array_get_non_empty_domain(ctx, array, box, &empty));
  print_i32("reopened at 15", box, 2);
  tiledb_array_schema_t *schema = NULL;
  OK(tiledb_array_get_schema(ctx, array, &schema));
  uint64_t capacity = 0;
  OK(tiledb_array_schema_get_capacity(ctx, schema, &capacity));
  printf("capacity %" PRIu64 "\n", capacity);
  tiledb_array_schema_free(&schema);
  OK(tiledb_array_close(ctx, array));
  opened("closed", array);
  OK(tiledb_array_open(ctx, array, TILEDB_WRITE));
  CODE("reopen of what is written", tiledb_array_reopen(ctx, array));
  CODE("non-empty domain of what is written", tiledb_array_get_non_empty_domain(ctx, array, box, &empty));
  close_array(array);

  tiledb_encryption_type_t encryption;
  OK(tiledb_array_encryption_type(ctx, "array", &encryption));
  printf("not encrypted: %d\n", encryption == TILEDB_NO_ENCRYPTION);
  OK(tiledb_array_alloc(ctx, "missing", &array));
  CODE("open of no array", tiledb_array_open(ctx, array, TILEDB_READ));
  tiledb_array_free(&array);
  CODE("delete of no array", tiledb_array_delete(ctx, "missing"));
  OK(tiledb_array_delete(ctx, "keys"));
  tiledb_object_t object;
  OK(tiledb_object_type(ctx, "keys", &object));
  printf("gone: %d\n", object == TILEDB_INVALID);
  CODE("no name", tiledb_array_alloc(ctx, NULL, &array));
  CODE("no array", tiledb_array_open(ctx, NULL, TILEDB_READ));
  tiledb_array_free(&array);
  return end();
}
