/* Errors: texts, handles, and calls that return the code of a missing context. */
#include "check.h"

int main(void) {
  begin();
  tiledb_error_t *error = NULL, *again = NULL;
  const char *text = NULL, *second = NULL;

  CODE("no array", tiledb_array_alloc(ctx, NULL, NULL));
  OK(tiledb_ctx_get_last_error(ctx, &error));
  OK(tiledb_error_message(error, &text));
  printf("a text: %d\n", strlen(text) > 0);
  OK(tiledb_ctx_get_last_error(ctx, &again));
  OK(tiledb_error_message(again, &second));
  printf("the same text: %d, other handles: %d\n", strcmp(text, second) == 0, error != again);
  tiledb_error_free(&again);

  /* The error outlives the next one. */
  char *kept = strdup(text);
  tiledb_array_schema_t *schema = NULL;
  CODE("another refusal", tiledb_array_schema_load(ctx, "missing", &schema));
  OK(tiledb_error_message(error, &text));
  printf("kept: %d\n", strcmp(text, kept) == 0);
  OK(tiledb_ctx_get_last_error(ctx, &again));
  OK(tiledb_error_message(again, &second));
  printf("another text: %d\n", strcmp(text, second) != 0);
  free(kept);
  tiledb_error_free(&error);
  tiledb_error_free(&error);
  printf("null after it is freed: %d\n", error == NULL);
  tiledb_error_free(&again);

  CODE("no error", tiledb_error_message(NULL, &text));
  CODE("nowhere for an error", tiledb_ctx_get_last_error(ctx, NULL));

  /* An unknown configuration value is an error of its own handle. */
  tiledb_config_t *config = NULL;
  OK(tiledb_config_alloc(&config, &error));
  CODE("a wrong value", tiledb_config_set(config, "sm.check_coord_oob", "perhaps", &error));
  printf("told: %d\n", error != NULL);
  OK(tiledb_error_message(error, &text));
  printf("a text: %d\n", strlen(text) > 0);
  tiledb_error_free(&error);
  OK(tiledb_config_set(config, "sm.check_coord_oob", "false", &error));
  printf("none after a success: %d\n", error == NULL);
  tiledb_config_free(&config);

  /* Each kind of function says that there is no context. */
  tiledb_array_t *array = NULL;
  tiledb_group_t *group = NULL;
  tiledb_vfs_t *vfs = NULL;
  tiledb_filter_t *filter = NULL;
  tiledb_query_condition_t *condition = NULL;
  tiledb_object_t type;
  CODE("array", tiledb_array_alloc(NULL, "a", &array));
  CODE("create", tiledb_array_create(NULL, "a", NULL));
  CODE("group", tiledb_group_alloc(NULL, "a", &group));
  CODE("vfs", tiledb_vfs_alloc(NULL, NULL, &vfs));
  CODE("filter", tiledb_filter_alloc(NULL, TILEDB_FILTER_ZSTD, &filter));
  CODE("schema", tiledb_array_schema_alloc(NULL, TILEDB_DENSE, &schema));
  CODE("condition", tiledb_query_condition_alloc(NULL, &condition));
  CODE("object", tiledb_object_type(NULL, "a", &type));
  CODE("query", tiledb_query_submit(NULL, NULL));
  CODE("consolidate", tiledb_array_consolidate(NULL, "a", NULL));
  return end();
}
