/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of plugstack.conf. */

#include "site/plugstack.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "unit.h"

static const struct {
    const char *text;
    const char *lines; /* PLACE KIND PATH [WORDS], each with a newline */
} cases[] = {
    {"", ""},
    {"\n# required a.so\n   #\n", ""},
    {"required /a/berth.so", "f:1 0 /a/berth.so\n"},
    {"\n\toptional\tberth.so  option_prefix=b-  # x\n",
     "f:2 1 berth.so option_prefix=b-\n"},
    {"required berth.so config=/a#b c\n", "f:1 0 berth.so config=/a\n"},
    {"required # a.so\n", "f:1 3 - required\n"},
    {"include conf.d/*.conf\r\nrequired b.so\r\n", "f:1 2 conf.d/*.conf\nf:2 0 b.so\n"},
    {"required\n", "f:1 3 - required\n"},
    {"requires a.so\n", "f:1 3 - requires a.so\n"},
    {"Required a.so\n", "f:1 3 - Required a.so\n"},
};

TEST_ROWS(lines_are_read, cases)
{
    BERTH_FREE char *text = strdup(cases[_i].text);
    struct berth_plugstack stack = {0};
    BERTH_BUF struct berth_buf seen = {0};

    ck_assert_int_eq(berth_plugstack_read("f", text, &stack), 0);
    berth_buf_puts(&seen, "");
    for (size_t i = 0; i < stack.count; i++) {
        const struct berth_plugstack_line *line = &stack.items[i];

        berth_buf_addf(&seen, "%s %d ", line->place, (int)line->kind);
        berth_buf_puts(&seen, line->path ? line->path : "-");
        for (size_t k = 0; k < line->words.count; k++) {
            berth_buf_puts(&seen, " ");
            berth_buf_puts(&seen, line->words.items[k]);
        }
        berth_buf_puts(&seen, "\n");
    }
    ck_assert_str_eq(seen.text ? seen.text : "", cases[_i].lines);
    berth_plugstack_fini(&stack);
}
