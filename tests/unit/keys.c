/* SPDX-License-Identifier: Apache-2.0 */
/* Values of files with a KEY = VALUE on each line. */

#include "site/keys.h"

#include "base/cleanup.h"
#include "site/slurmconf.h"
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

static const struct {
    const char *named;
    const char *first;
    size_t count;
} places[] = {
    {"/opt/slurm.conf", "/opt/slurm.conf", 5},
    {"", NULL, 4},
    {NULL, NULL, 4},
};

/* SLURM_CONF counts first; a host without a file of its own has that of slurmd. */
TEST_ROWS(slurm_conf_is_looked_for, places)
{
    BERTH_STRVEC struct berth_strvec list = {0};

    berth_slurmconf_places(places[_i].named, &list);
    ck_assert_uint_eq(list.count, places[_i].count);
    if (places[_i].first)
        ck_assert_str_eq(list.items[0], places[_i].first);
    ck_assert_str_eq(list.items[list.count - 1],
                     "/var/spool/slurmd/conf-cache/slurm.conf");
}
