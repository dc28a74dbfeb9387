/* Configurations: values, defaults, refusals, comparison, iteration, files. */
#include "check.h"

static void show(tiledb_config_t *config, const char *key) {
  const char *value = NULL;
  tiledb_error_t *error = NULL;
  int code = tiledb_config_get(config, key, &value, &error);
  printf("%s = %s (%d)\n", key, value == NULL ? "(null)" : value, code);
  tiledb_error_free(&error);
}

static void set(tiledb_config_t *config, const char *key, const char *value) {
  tiledb_error_t *error = NULL;
  int code = tiledb_config_set(config, key, value, &error);
  printf("set %s to %s: %d, error %d\n", key, value, code, error != NULL);
  tiledb_error_free(&error);
}

static void list(tiledb_config_t *config, const char *prefix) {
  tiledb_config_iter_t *iter = NULL;
  tiledb_error_t *error = NULL;
  int32_t done = 0;
  OK(tiledb_config_iter_alloc(config, prefix, &iter, &error));
  OK(tiledb_config_iter_done(iter, &done, &error));
  printf("keys of \"%s\"\n", prefix == NULL ? "(null)" : prefix);
  while (!done) {
    const char *key = NULL, *value = NULL;
    OK(tiledb_config_iter_here(iter, &key, &value, &error));
    printf("  %s = %s\n", key, value);
    OK(tiledb_config_iter_next(iter, &error));
    OK(tiledb_config_iter_done(iter, &done, &error));
  }
  OK(tiledb_config_iter_reset(config, iter, "sm.consolidation.", &error));
  int count = 0;
  for (OK(tiledb_config_iter_done(iter, &done, &error)); !done; count++) {
    OK(tiledb_config_iter_next(iter, &error));
    OK(tiledb_config_iter_done(iter, &done, &error));
  }
  printf("  after a reset: %d\n", count);
  tiledb_config_iter_free(&iter);
}

int main(void) {
  begin();
  tiledb_config_t *config = NULL, *other = NULL;
  tiledb_error_t *error = NULL;
  uint8_t equal = 2;
  OK(tiledb_config_alloc(&config, &error));
  OK(tiledb_config_alloc(&other, &error));

  const char *keys[] = {
      "sm.memory_budget",  "sm.dedup_coords", "sm.check_coord_dups",       "sm.var_offsets.bitsize",
      "sm.var_offsets.mode", "vfs.s3.region", "sm.consolidation.mode",     "vfs.file.posix_file_permissions",
      "sm.encryption_type", "no.such.key",    "sm.query.dense.reader",     "sm.mem.total_budget",
  };
  for (size_t i = 0; i < COUNT(keys); i++) show(config, keys[i]);

  set(config, "sm.memory_budget", "1000");
  set(config, "sm.memory_budget", "many");
  set(config, "sm.memory_budget", "-1");
  set(config, "sm.memory_budget", "");
  set(config, "sm.dedup_coords", "true");
  set(config, "sm.dedup_coords", "yes");
  set(config, "sm.var_offsets.bitsize", "32");
  set(config, "sm.var_offsets.mode", "elements");
  set(config, "a.key.of.ours", "kept");
  for (size_t i = 0; i < COUNT(keys); i++) show(config, keys[i]);
  show(config, "a.key.of.ours");

  OK(tiledb_config_compare(config, other, &equal));
  printf("equal after changes: %u\n", equal);
  OK(tiledb_config_unset(config, "sm.memory_budget", &error));
  OK(tiledb_config_unset(config, "a.key.of.ours", &error));
  OK(tiledb_config_unset(config, "no.such.key", &error));
  show(config, "sm.memory_budget");
  show(config, "a.key.of.ours");
  OK(tiledb_config_compare(other, other, &equal));
  printf("equal to itself: %u\n", equal);

  list(config, "sm.consolidation.");
  list(config, "sm.var_offsets.");
  list(config, "vfs.azure.");
  list(config, "no.such.");

  OK(tiledb_config_save_to_file(config, "saved.cfg", &error));
  OK(tiledb_config_load_from_file(other, "saved.cfg", &error));
  OK(tiledb_config_compare(config, other, &equal));
  printf("equal after a load: %u\n", equal);
  FILE *file = fopen("own.cfg", "w");
  fprintf(file, "# a comment\n\n  sm.dedup_coords true  # behind a value\nsm.tile_cache_size 77\n");
  fclose(file);
  CODE("a file of our own", tiledb_config_load_from_file(other, "own.cfg", &error));
  show(other, "sm.dedup_coords");
  show(other, "sm.tile_cache_size");
  tiledb_error_free(&error);
  CODE("no such file", tiledb_config_load_from_file(other, "missing.cfg", &error));
  tiledb_error_free(&error);
  file = fopen("bad.cfg", "w");
  fprintf(file, "sm.dedup_coords\n");
  fclose(file);
  CODE("a key without a value", tiledb_config_load_from_file(other, "bad.cfg", &error));
  tiledb_error_free(&error);

  /* A context has a copy. */
  tiledb_ctx_t *own = NULL;
  tiledb_config_t *copy = NULL;
  OK(tiledb_ctx_alloc(config, &own));
  set(config, "sm.var_offsets.mode", "bytes");
  OK(tiledb_ctx_get_config(own, &copy));
  show(copy, "sm.var_offsets.mode");
  tiledb_ctx_free(&own);
  tiledb_config_free(&copy);

  CODE("no key", tiledb_config_get(config, NULL, NULL, &error));
  tiledb_error_free(&error);
  CODE("no value", tiledb_config_set(config, "sm.dedup_coords", NULL, &error));
  tiledb_error_free(&error);
  CODE("no place for an error", tiledb_config_set(config, "sm.dedup_coords", "maybe", NULL));
  CODE("no configuration", tiledb_config_set(NULL, "sm.dedup_coords", "true", &error));
  tiledb_error_free(&error);
  tiledb_config_free(&config);
  tiledb_config_free(&config);
  tiledb_config_free(&other);
  printf("null after it is freed: %d\n", config == NULL);
  return end();
}
