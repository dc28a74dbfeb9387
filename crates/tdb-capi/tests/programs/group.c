/* Groups: members, names, metadata, walks, deletion. */
#include "check.h"

static tiledb_group_t *open_group(const char *uri, tiledb_query_type_t type, const char *time) {
  tiledb_group_t *group = NULL;
  OK(tiledb_group_alloc(ctx, uri, &group));
  if (time != NULL) {
    tiledb_config_t *config = NULL;
    tiledb_error_t *error = NULL;
    OK(tiledb_config_alloc(&config, &error));
    OK(tiledb_config_set(config, "sm.group.timestamp_end", time, &error));
    OK(tiledb_group_set_config(ctx, group, config));
    tiledb_config_free(&config);
  }
  OK(tiledb_group_open(ctx, group, type));
  return group;
}

static void close_group(tiledb_group_t *group) {
  OK(tiledb_group_close(ctx, group));
  tiledb_group_free(&group);
}

static void show(const char *words) {
  tiledb_group_t *group = open_group("group", TILEDB_READ, NULL);
  uint64_t count = 9;
  OK(tiledb_group_get_member_count(ctx, group, &count));
  printf("%s: %" PRIu64 " members\n", words, count);
  const char *names[] = {"first", "second", "inner"};
  for (size_t i = 0; i < COUNT(names); i++) {
    tiledb_string_t *uri = NULL;
    tiledb_object_t type;
    const char *view = NULL, *word = NULL;
    size_t length = 0;
    uint8_t relative = 9;
    int code = tiledb_group_get_member_by_name_v2(ctx, group, names[i], &uri, &type);
    if (code != TILEDB_OK) {
      printf("  %s: %d\n", names[i], code);
      continue;
    }
    OK(tiledb_string_view(uri, &view, &length));
    OK(tiledb_object_type_to_str(type, &word));
    OK(tiledb_group_get_is_relative_uri_by_name(ctx, group, names[i], &relative));
    const char *slash = strrchr(view, '/');
    printf("  %s: %s, relative %u, at %s\n", names[i], word, relative, slash == NULL ? view : slash + 1);
    OK(tiledb_string_free(&uri));
  }
  /* Their order is not told by the format: the names are counted. */
  int named = 0, arrays = 0;
  for (uint64_t i = 0; i < count; i++) {
    tiledb_string_t *uri = NULL, *name = NULL;
    tiledb_object_t type;
    OK(tiledb_group_get_member_by_index_v2(ctx, group, i, &uri, &type, &name));
    named += name != NULL;
    arrays += type == TILEDB_ARRAY;
    OK(tiledb_string_free(&uri));
    if (name != NULL) OK(tiledb_string_free(&name));
  }
  printf("  named %d, arrays %d\n", named, arrays);
  close_group(group);
}

int main(void) {
  begin();
  OK(tiledb_group_create(ctx, "group"));
  CODE("created again", tiledb_group_create(ctx, "group"));
  OK(tiledb_group_create(ctx, "group/inner"));
  create_sparse("group/first");
  create_sparse("second");
  show("new");

  tiledb_group_t *group = open_group("group", TILEDB_WRITE, "1");
  OK(tiledb_group_add_member(ctx, group, "first", 1, "first"));
  OK(tiledb_group_add_member(ctx, group, "inner", 1, "inner"));
  CODE("a name twice", tiledb_group_add_member(ctx, group, "inner", 1, "inner"));
  uint64_t count = 9;
  CODE("count while it is written", tiledb_group_get_member_count(ctx, group, &count));
  close_group(group);
  show("two members");

  group = open_group("group", TILEDB_WRITE, "2");
  OK(tiledb_group_remove_member(ctx, group, "first"));
  close_group(group);
  show("one member");

  group = open_group("group", TILEDB_WRITE, "3");
  OK(tiledb_group_add_member_with_type(ctx, group, "first", 1, "first", TILEDB_ARRAY));
  int32_t one = 1;
  OK(tiledb_group_put_metadata(ctx, group, "number", TILEDB_INT32, 1, &one));
  OK(tiledb_group_put_metadata(ctx, group, "text", TILEDB_STRING_UTF8, 4, "abcd"));
  CODE("metadata without a key", tiledb_group_put_metadata(ctx, group, NULL, TILEDB_INT32, 1, &one));
  close_group(group);
  group = open_group("group", TILEDB_WRITE, "4");
  OK(tiledb_group_delete_metadata(ctx, group, "text"));
  close_group(group);

  group = open_group("group", TILEDB_READ, NULL);
  tiledb_datatype_t type;
  uint32_t values = 0, length = 0;
  const void *value = NULL;
  const char *key = NULL;
  int32_t has = 9;
  OK(tiledb_group_get_metadata_num(ctx, group, &count));
  printf("metadata: %" PRIu64 "\n", count);
  OK(tiledb_group_get_metadata_from_index(ctx, group, 0, &key, &length, &type, &values, &value));
  printf("  %.*s of %u: %d\n", (int)length, key, values, *(const int32_t *)value);
  OK(tiledb_group_get_metadata(ctx, group, "text", &type, &values, &value));
  printf("  text: null %d\n", value == NULL);
  OK(tiledb_group_has_metadata_key(ctx, group, "number", &type, &has));
  printf("  has number: %d, %d\n", has, type == TILEDB_INT32);
  tiledb_query_type_t mode;
  OK(tiledb_group_get_query_type(ctx, group, &mode));
  OK(tiledb_group_is_open(ctx, group, &has));
  printf("open %d, to read %d\n", has, mode == TILEDB_READ);
  tiledb_string_t *dump = NULL;
  OK(tiledb_group_dump_str_v2(ctx, group, &dump, 0));
  print_string("dump", dump);
  OK(tiledb_group_dump_str_v2(ctx, group, &dump, 1));
  print_string("dump of all", dump);
  const char *uri = NULL, *setting = NULL;
  OK(tiledb_group_get_uri(ctx, group, &uri));
  printf("ends with its name: %d\n", strcmp(uri + strlen(uri) - 6, "/group") == 0);
  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  OK(tiledb_group_get_config(ctx, group, &config));
  OK(tiledb_config_get(config, "sm.group.timestamp_end", &setting, &error));
  printf("configuration: %s\n", setting);
  tiledb_config_free(&config);
  CODE("an unknown name", tiledb_group_get_is_relative_uri_by_name(ctx, group, "no", &(uint8_t){0}));
  CODE("add while it is read", tiledb_group_add_member(ctx, group, "x", 1, "x"));
  CODE("opened twice", tiledb_group_open(ctx, group, TILEDB_READ));
  close_group(group);

  OK(tiledb_group_alloc(ctx, "group", &group));
  CODE("count of a closed group", tiledb_group_get_member_count(ctx, group, &count));
  CODE("close of a closed group", tiledb_group_close(ctx, group));
  tiledb_group_free(&group);
  OK(tiledb_group_alloc(ctx, "group/first", &group));
  CODE("an array as a group", tiledb_group_open(ctx, group, TILEDB_READ));
  tiledb_group_free(&group);

  OK(tiledb_group_consolidate_metadata(ctx, "group", NULL));
  OK(tiledb_group_vacuum_metadata(ctx, "group", NULL));
  group = open_group("group", TILEDB_READ, NULL);
  OK(tiledb_group_get_metadata_num(ctx, group, &count));
  printf("metadata: %" PRIu64 "\n", count);
  close_group(group);

  group = open_group("group", TILEDB_MODIFY_EXCLUSIVE, NULL);
  OK(tiledb_group_delete_group(ctx, group, "group", 1));
  tiledb_group_free(&group);
  tiledb_object_t object;
  OK(tiledb_object_type(ctx, "group", &object));
  printf("gone: %d\n", object == TILEDB_INVALID);
  CODE("no name", tiledb_group_alloc(ctx, NULL, &group));
  CODE("no group", tiledb_group_open(ctx, NULL, TILEDB_READ));
  return end();
}
