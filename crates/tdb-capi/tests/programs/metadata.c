/* Metadata of arrays: types, order, changes over time, refusals. */
#include "check.h"

static void show(const char *words, uint64_t time) {
  tiledb_array_t *array = open_at("array", TILEDB_READ, time);
  uint64_t count = 9;
  OK(tiledb_array_get_metadata_num(ctx, array, &count));
  printf("%s: %" PRIu64 "\n", words, count);
  for (uint64_t i = 0; i < count; i++) {
    const char *key = NULL, *word = NULL;
    uint32_t length = 0, values = 0;
    tiledb_datatype_t type;
    const void *value = NULL;
    OK(tiledb_array_get_metadata_from_index(ctx, array, i, &key, &length, &type, &values, &value));
    OK(tiledb_datatype_to_str(type, &word));
    printf("  %.*s: %u of %s, null %d", (int)length, key, values, word, value == NULL);
    if (value == NULL) printf("\n");
    else print_u8("", value, values * tiledb_datatype_size(type));
  }
  close_array(array);
}

static void get(tiledb_array_t *array, const char *key) {
  tiledb_datatype_t type = TILEDB_ANY;
  uint32_t values = 77;
  const void *value = NULL;
  int32_t has = 9;
  int code = tiledb_array_get_metadata(ctx, array, key, &type, &values, &value);
  printf("get %s: %d, %u values, null %d", key, code, values, value == NULL);
  OK(tiledb_array_has_metadata_key(ctx, array, key, &type, &has));
  printf(", has %d\n", has);
}

int main(void) {
  begin();
  create_sparse("array");
  show("none", 0);
  int32_t one = 1, three[] = {1, 2, 3};
  double real = 0.25;

  tiledb_array_t *array = open_at("array", TILEDB_WRITE, 1);
  OK(tiledb_array_put_metadata(ctx, array, "number", TILEDB_INT32, 1, &one));
  OK(tiledb_array_put_metadata(ctx, array, "numbers", TILEDB_INT32, 3, three));
  OK(tiledb_array_put_metadata(ctx, array, "a text", TILEDB_STRING_UTF8, 5, "hello"));
  OK(tiledb_array_put_metadata(ctx, array, "Real", TILEDB_FLOAT64, 1, &real));
  OK(tiledb_array_put_metadata(ctx, array, "nothing", TILEDB_STRING_ASCII, 0, NULL));
  OK(tiledb_array_put_metadata(ctx, array, "blob", TILEDB_BLOB, 3, "\x01\x02\x03"));
  one = 5;
  OK(tiledb_array_put_metadata(ctx, array, "number", TILEDB_INT32, 1, &one));
  CODE("no key", tiledb_array_put_metadata(ctx, array, NULL, TILEDB_INT32, 1, &one));
  CODE("the type ANY", tiledb_array_put_metadata(ctx, array, "any", TILEDB_ANY, 1, &one));
  uint64_t count = 9;
  CODE("read while it is written", tiledb_array_get_metadata_num(ctx, array, &count));
  close_array(array);
  show("at 1", 1);

  array = open_at("array", TILEDB_WRITE, 3);
  OK(tiledb_array_delete_metadata(ctx, array, "numbers"));
  OK(tiledb_array_delete_metadata(ctx, array, "no such key"));
  CODE("delete of no key", tiledb_array_delete_metadata(ctx, array, NULL));
  OK(tiledb_array_put_metadata(ctx, array, "Real", TILEDB_STRING_ASCII, 2, "no"));
  OK(tiledb_array_put_metadata(ctx, array, "", TILEDB_INT32, 1, &one));
  close_array(array);
  show("at 3", 3);
  show("at 2", 2);

  array = open_at("array", TILEDB_WRITE, 5);
  OK(tiledb_array_put_metadata(ctx, array, "there and gone", TILEDB_INT32, 1, &one));
  OK(tiledb_array_delete_metadata(ctx, array, "there and gone"));
  OK(tiledb_array_delete_metadata(ctx, array, "blob"));
  OK(tiledb_array_put_metadata(ctx, array, "blob", TILEDB_INT32, 1, &one));
  close_array(array);
  show("at 5", 5);

  array = open_at("array", TILEDB_READ, 0);
  get(array, "number");
  get(array, "numbers");
  get(array, "nothing");
  get(array, "");
  CODE("put while it is read", tiledb_array_put_metadata(ctx, array, "k", TILEDB_INT32, 1, &one));
  CODE("delete while it is read", tiledb_array_delete_metadata(ctx, array, "number"));
  CODE("an index too many", tiledb_array_get_metadata_from_index(ctx, array, 50, NULL, NULL, NULL, NULL, NULL));
  CODE("nowhere for a count", tiledb_array_get_metadata_num(ctx, array, NULL));
  close_array(array);
  CODE("no array", tiledb_array_get_metadata_num(ctx, NULL, &count));

  /* Consolidated and vacuumed, all is as it was. */
  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  OK(tiledb_config_alloc(&config, &error));
  OK(tiledb_config_set(config, "sm.consolidation.mode", "array_meta", &error));
  OK(tiledb_config_set(config, "sm.vacuum.mode", "array_meta", &error));
  OK(tiledb_array_consolidate(ctx, "array", config));
  show("consolidated", 0);
  show("at 3", 3);
  OK(tiledb_array_vacuum(ctx, "array", config));
  show("vacuumed", 0);
  show("at 3", 3);
  tiledb_config_free(&config);
  return end();
}
