/* Statistics: on and off, texts as JSON, of a context and of a query. The figures are times and
 * counts of the library's own work, so they are not printed. */
#include "check.h"

static void enabled(const char *words) {
  uint8_t is = 9;
  OK(tiledb_stats_is_enabled(&is));
  printf("%s: %u\n", words, is);
}

/* Whether a text looks like JSON: its first and last character, and brackets that close. */
static void json(const char *words, const char *text) {
  int depth = 0, deepest = 0;
  for (const char *c = text; *c != 0; c++) {
    if (*c == '{' || *c == '[') depth++;
    if (*c == '}' || *c == ']') depth--;
    if (depth > deepest) deepest = depth;
  }
  printf("%s: closed %d, nested %d\n", words, depth == 0, deepest > 1);
}

int main(void) {
  begin();
  enabled("at first");
  OK(tiledb_stats_enable());
  enabled("enabled");
  OK(tiledb_stats_enable());
  create_sparse("array");
  int32_t d1[] = {1, 2, 3}, a[] = {1, 2, 3};
  write_sparse("array", 1, d1, a, 3);
  print_sparse("array", "array", 0);
  char *text = NULL;
  OK(tiledb_stats_dump_str(&text));
  printf("a text: %d\n", strlen(text) > 0);
  json("all", text);
  OK(tiledb_stats_free_str(&text));
  printf("freed: %d\n", text == NULL);
  OK(tiledb_stats_free_str(&text));
  OK(tiledb_stats_raw_dump_str(&text));
  json("raw", text);
  OK(tiledb_stats_free_str(&text));
  OK(tiledb_ctx_get_stats(ctx, &text));
  json("context", text);
  OK(tiledb_stats_free_str(&text));

  tiledb_array_t *array = open_at("array", TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
  uint64_t size = sizeof a;
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &size));
  OK(tiledb_query_submit(ctx, query));
  OK(tiledb_query_get_stats(ctx, query, &text));
  json("query", text);
  OK(tiledb_stats_free_str(&text));
  tiledb_query_free(&query);
  close_array(array);

  FILE *file = fopen("dump.txt", "w");
  OK(tiledb_stats_dump(file));
  OK(tiledb_stats_raw_dump(file));
  printf("written: %d\n", ftell(file) > 0);
  fclose(file);
  OK(tiledb_stats_reset());
  OK(tiledb_stats_disable());
  enabled("disabled");
  OK(tiledb_stats_dump_str(&text));
  printf("a text: %d\n", text != NULL);
  OK(tiledb_stats_free_str(&text));
  CODE("nowhere for a text", tiledb_stats_dump_str(NULL));
  CODE("nowhere for a raw text", tiledb_stats_raw_dump_str(NULL));
  CODE("nowhere for the state", tiledb_stats_is_enabled(NULL));
  CODE("no text to free", tiledb_stats_free_str(NULL));
  CODE("statistics of no query", tiledb_query_get_stats(ctx, NULL, &text));

  tiledb_string_t *built = NULL;
  OK(tiledb_as_built_dump(&built));
  const char *view = NULL;
  size_t length = 0;
  OK(tiledb_string_view(built, &view, &length));
  char *copy = strndup(view, length);
  json("as built", copy);
  free(copy);
  OK(tiledb_string_free(&built));
  return end();
}
