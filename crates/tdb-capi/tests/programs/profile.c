/* Profiles: parameters, files, what contexts read of them. */
#include "check.h"

static tiledb_error_t *error;

static int code_of(int code) {
  tiledb_error_free(&error);
  return code;
}

static void param(tiledb_profile_t *profile, const char *key) {
  tiledb_string_t *value = NULL;
  int code = code_of(tiledb_profile_get_param(profile, key, &value, &error));
  printf("%s: %d", key, code);
  if (value == NULL) printf(", none\n");
  else print_string("", value);
}

static tiledb_profile_t *new_profile(const char *name, const char *folder) {
  tiledb_profile_t *profile = NULL;
  OK(tiledb_profile_alloc(name, folder, &profile, &error));
  return profile;
}

int main(void) {
  begin();
  tiledb_profile_t *profile = new_profile("mine", "profiles/"), *again = NULL;
  tiledb_string_t *text = NULL;
  OK(tiledb_profile_get_name(profile, &text, &error));
  print_string("name", text);
  OK(tiledb_profile_get_dir(profile, &text, &error));
  const char *view = NULL;
  size_t length = 0;
  OK(tiledb_string_view(text, &view, &length));
  printf("in our folder: %d\n", length >= 9 && strstr(view, "profiles") != NULL);
  OK(tiledb_string_free(&text));

  param(profile, "rest.server_address");
  param(profile, "rest.username");
  CODE("set", code_of(tiledb_profile_set_param(profile, "rest.username", "someone", &error)));
  CODE("set alone", code_of(tiledb_profile_save(profile, 0, &error)));
  CODE("set", code_of(tiledb_profile_set_param(profile, "rest.password", "secret", &error)));
  CODE("set", code_of(tiledb_profile_set_param(profile, "rest.server_address", "http://localhost:1", &error)));
  CODE("a key that profiles have not", code_of(tiledb_profile_set_param(profile, "sm.dedup_coords", "true", &error)));
  CODE("an unknown key", code_of(tiledb_profile_set_param(profile, "no.such.key", "true", &error)));
  CODE("no key", code_of(tiledb_profile_set_param(profile, NULL, "x", &error)));
  CODE("no value", code_of(tiledb_profile_set_param(profile, "rest.token", NULL, &error)));
  param(profile, "rest.username");
  param(profile, "rest.token");
  param(profile, "no.such.key");
  OK(tiledb_profile_dump_str(profile, &text, &error));
  OK(tiledb_string_view(text, &view, &length));
  printf("dump has the name %d, the user %d\n", strstr(view, "mine") != NULL, strstr(view, "someone") != NULL);
  OK(tiledb_string_free(&text));

  CODE("save", code_of(tiledb_profile_save(profile, 0, &error)));
  CODE("save again", code_of(tiledb_profile_save(profile, 0, &error)));
  CODE("save over it", code_of(tiledb_profile_save(profile, 1, &error)));
  tiledb_profile_free(&profile);
  printf("freed: %d\n", profile == NULL);

  again = new_profile("mine", "profiles/");
  param(again, "rest.username");
  CODE("load", code_of(tiledb_profile_load(again, &error)));
  param(again, "rest.username");
  param(again, "rest.server_address");
  tiledb_profile_free(&again);
  again = new_profile("other", "profiles/");
  CODE("load of what was not saved", code_of(tiledb_profile_load(again, &error)));
  OK(tiledb_profile_set_param(again, "rest.token", "abc", &error));
  CODE("save of another", code_of(tiledb_profile_save(again, 0, &error)));
  tiledb_profile_free(&again);

  /* A configuration names the profile. */
  tiledb_config_t *config = NULL;
  const char *value = NULL;
  OK(tiledb_config_alloc(&config, &error));
  OK(tiledb_config_set(config, "profile_dir", "profiles/", &error));
  CODE("profile of a configuration", code_of(tiledb_config_set(config, "profile_name", "mine", &error)));
  OK(tiledb_config_get(config, "rest.username", &value, &error));
  printf("user of the configuration: %s\n", value);
  tiledb_config_free(&config);

  CODE("remove", code_of(tiledb_profile_remove("mine", "profiles/", &error)));
  CODE("remove again", code_of(tiledb_profile_remove("mine", "profiles/", &error)));
  CODE("remove of what never was", code_of(tiledb_profile_remove("never", "profiles/", &error)));
  again = new_profile("mine", "profiles/");
  CODE("load of what is removed", code_of(tiledb_profile_load(again, &error)));
  tiledb_profile_free(&again);
  CODE("no profile", code_of(tiledb_profile_save(NULL, 0, &error)));
  CODE("nowhere for a profile", code_of(tiledb_profile_alloc("x", "profiles/", NULL, &error)));
  CODE("an empty name", code_of(tiledb_profile_alloc("", "profiles/", &again, &error)));
  tiledb_profile_free(&again);
  return end();
}
