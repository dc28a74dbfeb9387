/* Words of all constants, and back. */
#include "check.h"

/* Prints the words of an enum, and whether each is read as its constant. */
#define WORDS(kind, type, first, last)                                                   \
  do {                                                                                   \
    printf("%s:", #kind);                                                                \
    for (int value = first; value <= last; value++) {                                    \
      const char *word = NULL;                                                           \
      type back = (type)99;                                                              \
      int code = tiledb_##kind##_to_str((type)value, &word);                             \
      if (code != TILEDB_OK) {                                                           \
        printf(" %d:none", value);                                                       \
        continue;                                                                        \
      }                                                                                  \
      printf(" %s", word);                                                               \
      if (tiledb_##kind##_from_str(word, &back) != TILEDB_OK) printf(":unread");         \
      else if (back != (type)value) printf(":%d", (int)back);                            \
    }                                                                                    \
    type value = (type)0;                                                                \
    printf("; unknown %d", tiledb_##kind##_from_str("no such word", &value));            \
    printf(", empty %d", tiledb_##kind##_from_str("", &value));                          \
    printf("\n");                                                                        \
  } while (0)

int main(void) {
  begin();
  WORDS(array_type, tiledb_array_type_t, 0, 3);
  WORDS(data_order, tiledb_data_order_t, 0, 3);
  WORDS(datatype, tiledb_datatype_t, 0, 45);
  WORDS(encryption_type, tiledb_encryption_type_t, 0, 2);
  WORDS(filesystem, tiledb_filesystem_t, 0, 6);
  WORDS(filter_option, tiledb_filter_option_t, 0, 10);
  WORDS(filter_type, tiledb_filter_type_t, 0, 21);
  WORDS(layout, tiledb_layout_t, 0, 5);
  WORDS(mime_type, tiledb_mime_type_t, 0, 3);
  WORDS(object_type, tiledb_object_t, 0, 3);
  WORDS(query_status, tiledb_query_status_t, 0, 6);
  WORDS(query_type, tiledb_query_type_t, 0, 5);
  WORDS(vfs_mode, tiledb_vfs_mode_t, 0, 3);
  WORDS(walk_order, tiledb_walk_order_t, 0, 2);

  printf("sizes:");
  for (int type = 0; type < 44; type++) {
    printf(" %" PRIu64, tiledb_datatype_size((tiledb_datatype_t)type));
  }
  printf("\n");
  tiledb_datatype_t type;
  CODE("lower case", tiledb_datatype_from_str("int32", &type));
  CODE("with a space", tiledb_datatype_from_str("INT32 ", &type));

  int32_t major = 0, minor = 0, patch = 0;
  tiledb_version(&major, &minor, &patch);
  printf("version %d.%d\n", major, minor);
  printf("headers of the same version: %d\n", major == TILEDB_VERSION_MAJOR && minor == TILEDB_VERSION_MINOR);
  printf("variable number %u, longest path %u\n", tiledb_var_num(), tiledb_max_path());
  printf("offsets of %" PRIu64 " bytes\n", tiledb_offset_size());
  printf("name of times: %s\n", tiledb_timestamps());
  printf("a time: %d\n", tiledb_timestamp_now_ms() > UINT64_C(1600000000000));
  return end();
}
