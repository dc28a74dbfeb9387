/* Files in arrays: from memory and from a file, whole and in parts. */
#include "check.h"

static void size_of(const char *words, const char *uri) {
  size_t size = 99;
  int code = tiledb_filestore_size(ctx, uri, &size);
  printf("%s: %d", words, code);
  if (code == TILEDB_OK) printf(", %zu bytes", size);
  printf("\n");
}

static void part(const char *uri, size_t offset, size_t size) {
  char bytes[64] = {0};
  int code = tiledb_filestore_buffer_export(ctx, uri, offset, bytes, size);
  printf("%zu bytes from %zu: %d", size, offset, code);
  print_text("", bytes, code == TILEDB_OK ? size : 0);
}

static void text(const char *uri, const char *key) {
  tiledb_array_t *array = open_at(uri, TILEDB_READ, 0);
  tiledb_datatype_t type;
  uint32_t values = 0;
  const void *value = NULL;
  OK(tiledb_array_get_metadata(ctx, array, key, &type, &values, &value));
  if (value == NULL) {
    printf("%s: none\n", key);
  } else {
    print_text(key, value, values * tiledb_datatype_size(type));
  }
  close_array(array);
}

int main(void) {
  begin();
  tiledb_array_schema_t *schema = NULL;
  OK(tiledb_filestore_schema_create(ctx, NULL, &schema));
  tiledb_array_type_t type;
  uint32_t attributes = 0;
  OK(tiledb_array_schema_get_array_type(ctx, schema, &type));
  OK(tiledb_array_schema_get_attribute_num(ctx, schema, &attributes));
  printf("dense %d, %u attribute\n", type == TILEDB_DENSE, attributes);
  tiledb_string_t *dump = NULL;
  OK(tiledb_array_schema_dump_str(ctx, schema, &dump));
  print_string("dump", dump);
  create("store", schema);
  size_of("empty", "store");

  char words[] = "hello, file store";
  OK(tiledb_filestore_buffer_import(ctx, "store", words, sizeof words - 1, TILEDB_MIME_AUTODETECT));
  size_of("of a buffer", "store");
  part("store", 0, 17);
  part("store", 7, 4);
  part("store", 10, 20);
  text("store", "file_extension");
  text("store", "mime");
  OK(tiledb_filestore_uri_export(ctx, "exported", "store"));
  FILE *file = fopen("exported", "rb");
  char bytes[64] = {0};
  size_t count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  print_text("exported", bytes, count);

  file = fopen("plain.txt", "wb");
  for (int i = 0; i < 5000; i++) fprintf(file, "line %d\n", i);
  fclose(file);
  OK(tiledb_filestore_schema_create(ctx, "plain.txt", &schema));
  create("lines", schema);
  OK(tiledb_filestore_uri_import(ctx, "lines", "plain.txt", TILEDB_MIME_AUTODETECT));
  size_of("of a file", "lines");
  part("lines", 0, 7);
  part("lines", 40000, 9);
  text("lines", "file_extension");
  text("lines", "original_file_name");
  OK(tiledb_filestore_uri_export(ctx, "copy.txt", "lines"));
  FILE *copy = fopen("copy.txt", "rb");
  file = fopen("plain.txt", "rb");
  int same = 1, a = 0, b = 0;
  do {
    a = fgetc(file), b = fgetc(copy);
    same &= a == b;
  } while (a != EOF && b != EOF);
  fclose(file);
  fclose(copy);
  printf("the same bytes: %d\n", same);

  size_of("of no array", "missing");
  CODE("import into no array", tiledb_filestore_buffer_import(ctx, "missing", words, 4, TILEDB_MIME_AUTODETECT));
  CODE("import of no file", tiledb_filestore_uri_import(ctx, "store", "missing.txt", TILEDB_MIME_AUTODETECT));
  CODE("no buffer", tiledb_filestore_buffer_import(ctx, "store", NULL, 4, TILEDB_MIME_AUTODETECT));
  CODE("no name", tiledb_filestore_size(ctx, NULL, &count));
  create_sparse("array");
  CODE("an array that is no store", tiledb_filestore_size(ctx, "array", &count));
  const char *word = NULL;
  tiledb_mime_type_t mime;
  OK(tiledb_mime_type_to_str(TILEDB_MIME_PDF, &word));
  OK(tiledb_mime_type_from_str("image/tiff", &mime));
  printf("%s, %d\n", word, (int)mime);
  return end();
}
