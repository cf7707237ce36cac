/* SPDX-License-Identifier: Apache-2.0 */
/* Values of files with a KEY = VALUE on each line. */

#include "site/keys.h"

#include "base/cleanup.h"
#include "unit.h"

static const struct {
    const char *text;
    const char *key;
    const char *value; /* NULL: none */
} cases[] = {
    {"", "TaskProlog", NULL},
    {"TaskProlog=/etc/p.sh", "TaskProlog", "/etc/p.sh"},
    {"taskPROLOG = /etc/p.sh \t\r\n", "TaskProlog", "/etc/p.sh"},
    {"  max loop devices = 256\n", "max loop devices", "256"},
    {"# max loop devices = 256\n", "max loop devices", NULL},
    {"max loop devices = 8 # few\n", "max loop devices", "8"},
    {"limit container paths = \nallow setuid = yes\n", "limit container paths", NULL},
    {"A=1\nA=2\n", "A", "2"},
    {"AB=1\n", "A", NULL},
    {"A\nB=1\n", "A", NULL},
    {"A\n=1\n", "A", NULL},
    {"X=1\nA=\"a b\"\n", "A", "a b"},
    {"A", "A", NULL},
    {"A=", "A", NULL},
    {"A=\"", "A", "\""},
};

TEST_ROWS(a_value_is_found, cases)
{
    BERTH_FREE char *value = berth_keys_value(cases[_i].text, cases[_i].key);

    ck_assert_pstr_eq(value, cases[_i].value);
}
