/* Handles of texts and of buffers. */
#include "check.h"

int main(void) {
  begin();
  tiledb_string_t *string = NULL;
  tiledb_attribute_t *attribute = NULL;
  OK(tiledb_attribute_alloc(ctx, "a", TILEDB_INT32, &attribute));
  OK(tiledb_attribute_set_enumeration_name(ctx, attribute, "words"));
  OK(tiledb_attribute_get_enumeration_name(ctx, attribute, &string));
  const char *view = NULL, *again = NULL;
  size_t length = 0;
  OK(tiledb_string_view(string, &view, &length));
  OK(tiledb_string_view(string, &again, &length));
  print_text("text", view, length);
  printf("the same address: %d\n", view == again);
  /* The text outlives what it is about. */
  tiledb_attribute_free(&attribute);
  print_text("text", view, length);
  CODE("nowhere for a text", tiledb_string_view(string, NULL, &length));
  CODE("nowhere for a length", tiledb_string_view(string, &view, NULL));
  CODE("no string", tiledb_string_view(NULL, &view, &length));
  CODE("freed", tiledb_string_free(&string));
  printf("null: %d\n", string == NULL);
  CODE("freed again", tiledb_string_free(&string));
  CODE("nothing to free", tiledb_string_free(NULL));

  tiledb_buffer_t *buffer = NULL;
  void *data = NULL;
  uint64_t size = 9;
  tiledb_datatype_t type;
  const char *word = NULL;
  OK(tiledb_buffer_alloc(ctx, &buffer));
  OK(tiledb_buffer_get_data(ctx, buffer, &data, &size));
  OK(tiledb_buffer_get_type(ctx, buffer, &type));
  OK(tiledb_datatype_to_str(type, &word));
  printf("new: %" PRIu64 " bytes of %s, null %d\n", size, word, data == NULL);
  int32_t values[] = {1, 2, 3};
  OK(tiledb_buffer_set_data(ctx, buffer, values, sizeof values));
  OK(tiledb_buffer_set_type(ctx, buffer, TILEDB_INT32));
  OK(tiledb_buffer_get_data(ctx, buffer, &data, &size));
  OK(tiledb_buffer_get_type(ctx, buffer, &type));
  OK(tiledb_datatype_to_str(type, &word));
  /* The address is left out: libtiledb returns ours, tdb that of its copy. */
  printf("set: %" PRIu64 " bytes of %s\n", size, word);
  print_i32("values", data, size / 4);
  OK(tiledb_buffer_set_data(ctx, buffer, NULL, 0));
  OK(tiledb_buffer_get_data(ctx, buffer, &data, &size));
  printf("unset: %" PRIu64 " bytes, null %d\n", size, data == NULL);
  CODE("no buffer", tiledb_buffer_set_data(ctx, NULL, values, 4));
  CODE("nowhere for data", tiledb_buffer_get_data(ctx, buffer, NULL, &size));
  CODE("nowhere for a type", tiledb_buffer_get_type(ctx, buffer, NULL));
  CODE("nowhere for a buffer", tiledb_buffer_alloc(ctx, NULL));
  tiledb_buffer_free(&buffer);
  printf("null: %d\n", buffer == NULL);

  tiledb_buffer_list_t *list = NULL;
  uint64_t count = 9;
  OK(tiledb_buffer_list_alloc(ctx, &list));
  OK(tiledb_buffer_list_get_num_buffers(ctx, list, &count));
  OK(tiledb_buffer_list_get_total_size(ctx, list, &size));
  printf("list: %" PRIu64 " buffers, %" PRIu64 " bytes\n", count, size);
  CODE("the first of none", tiledb_buffer_list_get_buffer(ctx, list, 0, &buffer));
  OK(tiledb_buffer_list_flatten(ctx, list, &buffer));
  OK(tiledb_buffer_get_data(ctx, buffer, &data, &size));
  printf("flat: %" PRIu64 " bytes\n", size);
  tiledb_buffer_free(&buffer);
  tiledb_buffer_list_free(&list);
  printf("null: %d\n", list == NULL);

  char path[300];
  uint32_t room = sizeof path;
  OK(tiledb_uri_to_path(ctx, "file:///some/where", path, &room));
  print_text("path", path, room);
  room = sizeof path;
  /* Other schemes, and none, are left out: libtiledb 2.30 cuts off seven characters. */
  room = 3;
  CODE("a short buffer", tiledb_uri_to_path(ctx, "file:///some/where", path, &room));
  return end();
}
