/* settings_form.h: the forms of texts and words, for the table of settings. */
#pragma once

#include "config/settings.h"

extern const struct setting_form webhook_form, secret_file_form, secret_env_form, news_form,
    listen_form, http_listen_form, host_form, host_name_form, collector_form, variable_form,
    pair_form, path_form, paths_form, branch_form, copy_form, word_form, prefix_form, place_form,
    daemon_address_form, store_form, credential_form, seen_form;
