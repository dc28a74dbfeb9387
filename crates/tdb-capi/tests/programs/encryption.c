/* Encrypted arrays: keys by configuration, wrong and missing keys. */
#include "check.h"

static const char KEY[] = "0123456789abcdeF0123456789abcdeF";

static tiledb_config_t *config_of(const char *type, const char *key) {
  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  OK(tiledb_config_alloc(&config, &error));
  if (type != NULL) OK(tiledb_config_set(config, "sm.encryption_type", type, &error));
  if (key != NULL) OK(tiledb_config_set(config, "sm.encryption_key", key, &error));
  return config;
}

static void read_with(const char *words, const char *type, const char *key) {
  tiledb_config_t *config = config_of(type, key);
  tiledb_array_t *array = NULL;
  OK(tiledb_array_alloc(ctx, "secret", &array));
  OK(tiledb_array_set_config(ctx, array, config));
  int code = tiledb_array_open(ctx, array, TILEDB_READ);
  printf("%s: %d\n", words, code);
  if (code == TILEDB_OK) {
    int32_t a[16];
    uint64_t size = sizeof a;
    tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
    OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &size));
    OK(tiledb_query_submit(ctx, query));
    print_i32("  a", a, size / 4);
    tiledb_query_free(&query);
    OK(tiledb_array_close(ctx, array));
  }
  tiledb_array_free(&array);
  tiledb_config_free(&config);
}

int main(void) {
  begin();
  /* A context with the key makes and writes the array. */
  tiledb_ctx_t *plain = ctx;
  tiledb_config_t *config = config_of("AES_256_GCM", KEY);
  ctx = NULL;
  OK(tiledb_ctx_alloc(config, &ctx));
  create_sparse("secret");
  int32_t d1[] = {1, 2, 3}, a[] = {10, 20, 30};
  write_sparse("secret", 1, d1, a, 3);
  print_sparse("with the key", "secret", 0);
  tiledb_array_t *array = open_at("secret", TILEDB_WRITE, 2);
  OK(tiledb_array_put_metadata(ctx, array, "key", TILEDB_INT32, 1, a));
  close_array(array);
  array = open_at("secret", TILEDB_READ, 0);
  tiledb_datatype_t type;
  uint32_t values = 0;
  const void *value = NULL;
  OK(tiledb_array_get_metadata(ctx, array, "key", &type, &values, &value));
  print_i32("metadata", value, 1);
  close_array(array);
  write_sparse("secret", 3, d1, a, 2);
  OK(tiledb_array_consolidate(ctx, "secret", config));
  print_sparse("consolidated", "secret", 0);
  tiledb_array_schema_t *schema = NULL;
  OK(tiledb_array_schema_load_with_config(ctx, config, "secret", &schema));
  tiledb_array_schema_free(&schema);
  tiledb_ctx_free(&ctx);
  tiledb_config_free(&config);
  ctx = plain;

  tiledb_encryption_type_t encryption;
  OK(tiledb_array_encryption_type(ctx, "secret", &encryption));
  printf("encrypted: %d\n", encryption == TILEDB_AES_256_GCM);
  read_with("the key", "AES_256_GCM", KEY);
  read_with("another key", "AES_256_GCM", "1123456789abcdeF0123456789abcdeF");
  read_with("a short key", "AES_256_GCM", "0123456789abcde");
  read_with("no key", NULL, NULL);
  read_with("a key without a type", NULL, KEY);
  CODE("schema without a key", tiledb_array_schema_load(ctx, "secret", &schema));
  config = config_of("AES_256_GCM", KEY);

  /* Its key opens no array that is not encrypted. */
  create_sparse("open");
  write_sparse("open", 1, d1, a, 3);
  OK(tiledb_array_alloc(ctx, "open", &array));
  OK(tiledb_array_set_config(ctx, array, config));
  CODE("a key for what is open", tiledb_array_open(ctx, array, TILEDB_READ));
  tiledb_array_free(&array);
  tiledb_config_free(&config);
  print_sparse("without a key", "open", 0);
  return end();
}
