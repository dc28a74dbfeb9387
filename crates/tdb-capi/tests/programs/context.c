/* Contexts: configurations, errors, tags, file systems. */
#include "check.h"

int main(void) {
  begin();
  tiledb_config_t *config = NULL, *found = NULL;
  tiledb_error_t *error = NULL;
  tiledb_ctx_t *other = NULL;
  const char *value = NULL;

  OK(tiledb_config_alloc(&config, &error));
  OK(tiledb_config_set(config, "sm.compute_concurrency_level", "2", &error));
  OK(tiledb_ctx_alloc(config, &other));
  OK(tiledb_ctx_get_config(other, &found));
  OK(tiledb_config_get(found, "sm.compute_concurrency_level", &value, &error));
  printf("threads: %s\n", value);
  tiledb_config_free(&found);

  OK(tiledb_ctx_get_last_error(other, &error));
  printf("no error yet: %d\n", error == NULL);
  tiledb_filter_t *filter = NULL;
  CODE("a filter that is none", tiledb_filter_alloc(other, (tiledb_filter_type_t)200, &filter));
  OK(tiledb_ctx_get_last_error(other, &error));
  printf("an error now: %d\n", error != NULL);
  const char *text = NULL;
  OK(tiledb_error_message(error, &text));
  printf("its text is empty: %d\n", text[0] == 0);
  tiledb_error_free(&error);
  /* A call that succeeds leaves the last error. */
  OK(tiledb_ctx_set_tag(other, "key", "value"));
  OK(tiledb_ctx_get_last_error(other, &error));
  printf("still an error: %d\n", error != NULL);
  tiledb_error_free(&error);
  /* The error of one context is not that of another. */
  OK(tiledb_ctx_get_last_error(ctx, &error));
  printf("an error of the other context: %d\n", error != NULL);
  tiledb_error_free(&error);

  int32_t supported = -1;
  OK(tiledb_ctx_is_supported_fs(ctx, TILEDB_MEMFS, &supported));
  printf("memory: %d\n", supported);
  OK(tiledb_ctx_is_supported_fs(ctx, TILEDB_HDFS, &supported));
  printf("HDFS: %d\n", supported);
  OK(tiledb_ctx_is_supported_fs(ctx, (tiledb_filesystem_t)77, &supported));
  printf("no file system: %d\n", supported);

  tiledb_data_protocol_t protocol = (tiledb_data_protocol_t)9;
  CODE("protocol", tiledb_ctx_get_data_protocol(ctx, "array", &protocol));
  printf("third protocol: %d\n", protocol == TILEDB_DATA_PROTOCOL_v3);
  CODE("nowhere for a protocol", tiledb_ctx_get_data_protocol(ctx, "array", NULL));
  CODE("a warning", tiledb_log_warn(ctx, "a warning of a program"));
  CODE("no warning", tiledb_log_warn(ctx, NULL));
  printf("status of codes: %d, %d\n", (int)tiledb_status_code(TILEDB_OK), (int)tiledb_status_code(TILEDB_ERR));

  OK(tiledb_ctx_set_tag(ctx, "a", "b"));
  OK(tiledb_ctx_set_tag(ctx, "a", "c"));
  CODE("a tag without a key", tiledb_ctx_set_tag(ctx, NULL, "b"));
  CODE("a tag without a value", tiledb_ctx_set_tag(ctx, "a", NULL));
  OK(tiledb_ctx_cancel_tasks(ctx));
  OK(tiledb_ctx_cancel_tasks(ctx));
  char *stats = NULL;
  OK(tiledb_ctx_get_stats(ctx, &stats));
  printf("statistics: %d\n", stats != NULL);
  OK(tiledb_stats_free_str(&stats));
  printf("freed: %d\n", stats == NULL);

  CODE("no context: tag", tiledb_ctx_set_tag(NULL, "a", "b"));
  CODE("no context: error", tiledb_ctx_get_last_error(NULL, &error));
  CODE("no context: config", tiledb_ctx_get_config(NULL, &found));
  CODE("no context: cancel", tiledb_ctx_cancel_tasks(NULL));
  CODE("no context: file system", tiledb_ctx_is_supported_fs(NULL, TILEDB_MEMFS, &supported));
  CODE("nowhere for a configuration", tiledb_ctx_get_config(ctx, NULL));
  CODE("nowhere for a context", tiledb_ctx_alloc(NULL, NULL));
  CODE("nowhere for a file system", tiledb_ctx_is_supported_fs(ctx, TILEDB_MEMFS, NULL));

  /* Many contexts at a time. */
  tiledb_ctx_t *many[5] = {NULL};
  for (int i = 0; i < 5; i++) OK(tiledb_ctx_alloc_with_error(config, &many[i], &error));
  for (int i = 4; i >= 0; i--) tiledb_ctx_free(&many[i]);
  printf("freed: %d\n", many[0] == NULL);
  tiledb_ctx_free(&many[0]);
  tiledb_ctx_free(&other);
  tiledb_config_free(&config);
  return end();
}
