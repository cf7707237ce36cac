/* SPDX-License-Identifier: Apache-2.0 */
/* berth.yaml: what its keys become, and what each fault is told as. */

#include "site/siteread.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/suggest.h"
#include "request/option.h"
#include "unit.h"

/* The faults of TEXT, each with a newline. */
static char *faults_of(const char *text, size_t size, struct berth_site *site)
{
    BERTH_STRVEC struct berth_strvec faults = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_site_parse("f", text, size, site, &faults, &err), 0);
    return faults.count ? unit_lines(&faults) : strdup("");
}

static void read_well(const char *text, struct berth_site *site)
{
    BERTH_FREE char *faults = faults_of(text, strlen(text), site);

    ck_assert_str_eq(faults, "");
}

/* The words of LIST with blanks between them. */
static void is_list(const struct berth_strvec *list, const char *words)
{
    BERTH_FREE char *lines = list->count ? unit_lines(list) : strdup("");

    for (char *c = lines; *c; c++)
        if (*c == '\n')
            *c = c[1] ? '|' : '\0';
    ck_assert_str_eq(lines, words);
}

/* Has rule RULE, from 0, the option TEXT, NAME=VALUE, of KIND? */
static void has_option(const struct berth_site *site, size_t rule,
                       enum berth_rule_kind kind, const char *text)
{
    const struct berth_site_rule *it = &site->rules[rule];
    BERTH_FREE char *name = strndup(text, strcspn(text, "="));
    enum berth_option_id id = berth_option_find(name);
    bool found = kind == BERTH_RULE_FORBID;
    const char *value;

    for (size_t i = 0; !found && (value = berth_request_value(&it->set[kind], id, i));
         i++)
        found = strcmp(value, strchr(text, '=') + 1) == 0;
    ck_assert_msg(found && it->lines[kind][id], "%s", text);
}

TEST(every_key_has_its_place)
{
    BERTH_SITE struct berth_site site = {0};

    read_well("runtime:\n"
              "  path: /opt/apptainer\n"
              "  args: [--quiet, \"--a b\"]\n"
              "  share: no\n"
              "  start_timeout: 5\n"
              "  raw_args: [--nv, \"--bind *\"]\n"
              "images:\n"
              "  roots: [/apps, /home]\n"
              "  uris: []\n"
              "  owners: [root]\n"
              "  signatures: [0123456789abcdef0123456789ABCDEF01234567]\n"
              "  cache: ~/cache\n"
              "  store: /apps/store\n"
              "  store_owner: images\n"
              "  compression: zstd:9\n"
              "  missing: refuse\n"
              "  bare: pull\n"
              "mounts:\n"
              "  forced: [/scratch, \"/a:/b:ro\", \"/c:/d:sqsh\"]\n"
              "  default: [/opt:/opt]\n"
              "  forbidden: [/etc]\n"
              "environment:\n"
              "  capture: [MODEL_*]\n"
              "  deny: [\"*\"]\n"
              "  unset: [C]\n"
              "  pytorch: [RANK, MASTER_PORT=1]\n"
              "mpi:\n"
              "  order: [mpich, openmpi-5]\n"
              "  glibc: refuse\n"
              "  compare: no\n"
              "rules:\n"
              "  - partition: gpu\n"
              "    account: climate\n"
              "    default: {mpi-bind: host, container-writable: true}\n"
              "    forbid: [container-args]\n"
              "  - force: {container-env: [\"A=1\", B=], mpi-bind: TRUE}\n"
              "provenance: {file: /var/log/berth.json}\n"
              "inside: all\n"
              "profiles_dir: /etc/p.d\n"
              "writable_dir: /local\n",
              &site);
    ck_assert_str_eq(site.runtime.path, "/opt/apptainer");
    is_list(&site.runtime.args, "--quiet|--a b");
    ck_assert_int_eq(site.runtime.share, BERTH_SHARE_NO);
    ck_assert_uint_eq(site.runtime.start_timeout, 5);
    ck_assert_int_eq(site.runtime.raw, BERTH_RAW_LIST);
    is_list(&site.runtime.allowed, "--nv|--bind *");
    is_list(&site.images.roots, "/apps|/home");
    ck_assert(site.images.has_uris && site.images.uris.count == 0);
    is_list(&site.images.owners, "root");
    is_list(&site.images.signatures, "0123456789abcdef0123456789ABCDEF01234567");
    ck_assert_str_eq(site.images.cache, "~/cache");
    ck_assert_str_eq(site.images.store, "/apps/store");
    ck_assert_str_eq(site.images.store_owner, "images");
    ck_assert_str_eq(site.images.compression, "zstd:9");
    ck_assert_int_eq(site.images.missing, BERTH_MISSING_REFUSE);
    ck_assert_int_eq(site.images.bare, BERTH_BARE_PULL);
    is_list(&site.mounts.forced, "/scratch|/a:/b:ro|/c:/d:sqsh");
    is_list(&site.mounts.defaults, "/opt:/opt");
    is_list(&site.mounts.forbidden, "/etc");
    is_list(&site.environment.capture, "MODEL_*");
    is_list(&site.environment.deny, "*");
    is_list(&site.environment.unset, "C");
    is_list(&site.environment.pytorch, "RANK|MASTER_PORT=1");
    is_list(&site.mpi.order, "mpich|openmpi-5");
    ck_assert_int_eq(site.mpi.glibc, BERTH_GLIBC_REFUSE);
    ck_assert_int_eq(site.mpi.compare, BERTH_COMPARE_NO);
    ck_assert_uint_eq(site.rule_count, 2);
    ck_assert_str_eq(site.rules[0].partition, "gpu");
    ck_assert_str_eq(site.rules[0].account, "climate");
    has_option(&site, 0, BERTH_RULE_DEFAULT, "mpi-bind=host");
    has_option(&site, 0, BERTH_RULE_DEFAULT, "container-writable=");
    has_option(&site, 0, BERTH_RULE_FORBID, "container-args=");
    ck_assert_ptr_null(site.rules[1].partition);
    ck_assert_ptr_null(site.rules[1].account);
    has_option(&site, 1, BERTH_RULE_FORCE, "container-env=A=1");
    has_option(&site, 1, BERTH_RULE_FORCE, "container-env=B=");
    has_option(&site, 1, BERTH_RULE_FORCE, "mpi-bind=auto");
    ck_assert_str_eq(site.provenance.file, "/var/log/berth.json");
    ck_assert_int_eq(site.inside, BERTH_INSIDE_ALL);
    ck_assert_str_eq(site.profiles_dir, "/etc/p.d");
    ck_assert_str_eq(site.writable_dir, "/local");
}

static const char *const nothing[] = {
    "",         "\n# only a comment\n",
    "---\n",    "runtime:\nimages:\n  # roots: [/a]\n",
    "--- {}\n", "\xef\xbb\xbf# a mark\n",
    "~\n",
};

TEST_ROWS(what_says_nothing_has_the_defaults, nothing)
{
    BERTH_SITE struct berth_site site = {0};

    read_well(nothing[_i], &site);
    ck_assert_ptr_null(site.runtime.path);
    ck_assert_uint_eq(site.runtime.start_timeout, 60);
    ck_assert_int_eq(site.runtime.share, BERTH_SHARE_AUTO);
    ck_assert_int_eq(site.runtime.raw, BERTH_RAW_ANY);
    ck_assert(!site.images.has_uris);
}

#define NOT_PLAIN(line)                                                                \
    "f:" line ": an anchor ('&'), an alias ('*') or a tag ('!') is not plain YAML; "   \
    "write the value itself\n"

static const struct {
    const char *text;
    const char *faults;
} bad[] = {
    /* the shape of values */
    {"runtime: 5", "f:1: runtime: expected a section of KEY: VALUE lines, got '5'\n"},
    {"runtime: [a]",
     "f:1: runtime: expected a section of KEY: VALUE lines, got a list\n"},
    {"[a]", "f:1: expected sections of KEY: VALUE lines, got a list\n"},
    {"hello", "f:1: expected sections of KEY: VALUE lines, got 'hello'\n"},
    {"runtime: {path: [/a]}", "f:1: runtime.path: expected one value, got a list\n"},
    {"runtime: {path: {a: b}}",
     "f:1: runtime.path: expected one value, got a section\n"},
    {"images:\n  roots: /a", "f:2: images.roots: expected a list, got '/a'\n"},
    {"images:\n  roots:", "f:2: images.roots: expected a list, got ''\n"},
    {"images: {uris: all}", "f:1: images.uris: expected none, or a list of patterns, "
                            "got 'all'\n"},
    {"runtime: {share: maybe}",
     "f:1: runtime.share: expected auto or no, got 'maybe'\n"},
    {"runtime: {raw_args: no}", "f:1: runtime.raw_args: expected any, none, or a "
                                "list of patterns, got 'no'\n"},
    {"runtime: {raw_args: {a: b}}", "f:1: runtime.raw_args: expected any, none, or a "
                                    "list of patterns, got a section\n"},
    {"mpi: {compare: all}", "f:1: mpi.compare: expected yes or no, got 'all'\n"},
    {"mpi: {glibc: no}", "f:1: mpi.glibc: expected replace or refuse, got 'no'\n"},
    {"runtime: {start_timeout: 0}",
     "f:1: runtime.start_timeout: expected 1 to 86400 seconds, got '0'\n"},
    {"runtime: {start_timeout: 86401}",
     "f:1: runtime.start_timeout: expected 1 to 86400 seconds, got '86401'\n"},
    {"runtime: {start_timeout: 5s}",
     "f:1: runtime.start_timeout: expected 1 to 86400 seconds, got '5s'\n"},
    {"runtime: {start_timeout: 99999999999999999999}",
     "f:1: runtime.start_timeout: expected 1 to 86400 seconds, got "
     "'99999999999999999999'\n"},
    /* values */
    {"runtime: {path: apptainer}",
     "f:1: runtime.path: expected an absolute path, got 'apptainer'\n"},
    {"images: {roots: [/a, b, /c/../d]}",
     "f:1: images.roots: expected an absolute path, got 'b'\n"
     "f:1: images.roots: expected a path without '..', got '/c/../d'\n"},
    {"images: {cache: there}", "f:1: images.cache: expected a path that starts with /, "
                               "~/ or $NAME, got 'there'\n"},
    {"images: {compression: lz4:3}", "f:1: images.compression: expected zstd, "
                                     "zstd:LEVEL (1 to 22), gzip, gzip:LEVEL (1 "
                                     "to 9) or lz4, got 'lz4:3'\n"},
    {"images: {uris: [alpine]}",
     "f:1: images.uris: expected the beginning of a URI, like docker:// or "
     "oras://registry.example/climate/, got 'alpine'\n"},
    {"images: {owners: [a b]}",
     "f:1: images.owners: expected the name of a user, got 'a b'\n"},
    {"images: {signatures: [abc]}", "f:1: images.signatures: expected a fingerprint of "
                                    "40 or 64 hexadecimal digits, got 'abc'\n"},
    {"mounts: {forced: [a, /a:b, \"/a:/b:rx\", \"/a,/b\"]}",
     "f:1: mounts.forced: expected SRC[:DST[:ro|rw|sqsh]] with absolute paths, got "
     "'a'\n"
     "f:1: mounts.forced: expected SRC[:DST[:ro|rw|sqsh]], DST from / and not / "
     "itself, got '/a:b'\n"
     "f:1: mounts.forced: expected SRC[:DST[:ro|rw|sqsh]], DST from / and not / "
     "itself, got '/a:/b:rx'\n"
     "f:1: mounts.forced: expected SRC[:DST[:ro|rw|sqsh]] with absolute paths, got "
     "'/a,/b'\n"},
    {"mpi: {order: [A b]}", "f:1: mpi.order: expected a mode of --mpi-bind, or a stack "
                            "that `berth profiles` names, got 'A b'\n"},
    {"environment: {capture: [1A]}", "f:1: environment.capture: expected the name of a "
                                     "variable, with * for any text, got '1A'\n"},
    {"environment: {unset: [A*]}",
     "f:1: environment.unset: expected the name of a variable, got 'A*'\n"},
    {"environment: {pytorch: [RNAK]}",
     "f:1: environment.pytorch: 'RNAK' is not NAME=VALUE or a variable that berth sets "
     "for PyTorch; did you mean 'RANK'?\n"},
    {"environment: {pytorch: [1=2]}", "f:1: environment.pytorch: expected NAME=VALUE, "
                                      "got '1=2'\n"},
    {"environment: {pytorch: off}", "f:1: environment.pytorch: expected none or a "
                                    "list, got 'off'\n"},
    {"runtime: {args: ['']}", "f:1: runtime.args: expected a text, got ''\n"},
    /* rules */
    {"rules: {a: b}", "f:1: rules: expected a list, got a section\n"},
    {"rules: [a]",
     "f:1: rules: expected a section of default, force and forbid, got 'a'\n"},
    {"rules:\n- partition: a",
     "f:2: rules: a rule without default, force or forbid; leave it out\n"},
    {"rules:\n- force: 5", "f:2: rules: expected OPTION: VALUE lines, got '5'\n"},
    {"rules:\n- forbid: {a: b}",
     "f:2: rules: expected a list of options, got a section\n"},
    {"rules:\n- forbid: [[a]]",
     "f:2: rules: expected the name of an option, got a list\n"},
    {"rules:\n- default:\n    container-writable:\n    mpi-bind: {a: b}\n    gpu: ''",
     "f:3: rule 1: container-writable: expected values for an option, got ''\n"
     "f:4: rule 1: mpi-bind: expected values for an option, got a section\n"
     "f:5: rule 1: gpu: expected values for an option, got ''\n"},
    {"rules: [{partition: [a], force: {mpi-bind: off}}]",
     "f:1: rules: expected one name, got a list\n"},
    {"rules:\n- force: {mpi-bind: off}\n  partitoin: x",
     "f:3: rules: 'partitoin' is not a key here; did you mean 'partition'?\n"},
    /* keys */
    {"imgaes: {}", "f:1: 'imgaes' is not a key here; did you mean 'images'?\n"},
    {"mpi: {default: host}",
     "f:1: mpi: 'default' is not a key here; expected order, glibc or compare\n"},
    {"xyzzy: {}", "f:1: 'xyzzy' is not a key here; expected runtime, images, mounts, "
                  "environment, mpi, rules, provenance, oci, inside, profiles_dir or "
                  "writable_dir\n"},
    {"runtime:\n  paht: /a",
     "f:2: runtime: 'paht' is not a key here; did you mean 'path'?\n"},
    {"runtime:\n  colour: red", "f:2: runtime: 'colour' is not a key here; expected "
                                "path, args, share, start_timeout or raw_args\n"},
    {"runtime.path: /a", "f:1: 'runtime.path' is not a key here; write it as path: "
                         "below runtime:\n"},
    {"\nruntime:\n  share: x\nimages:\n  root: [a]\nmpi: {glibc: y}\n",
     "f:3: runtime.share: expected auto or no, got 'x'\nf:5: images: 'root' is not "
     "a key here; did you mean 'roots'?\nf:6: mpi.glibc: expected replace or refuse, "
     "got 'y'\n"},
    /* YAML */
    {"mpi: {glibc: refuse\n", "f:2: not YAML: did not find expected ',' or '}' (while "
                              "parsing a flow mapping); check indentation, quotes and "
                              "colons\n"},
    {"runtime:\n\tpath: /a\n",
     "f:2: a tab in the indentation; YAML wants blanks there\n"},
    {"images:\n  roots:\n  -\t\t@\n",
     "f:3: a tab in the indentation; YAML wants blanks there\n"},
    {"mpi: @\n",
     "f:1: not YAML: found character that cannot start any token (while "
     "scanning for the next token); check indentation, quotes and colons\n"},
    {"%YAML 9.9\n---\nmpi: {}\n",
     "f:1: not YAML: found incompatible YAML document; check indentation, quotes and "
     "colons\n"},
    {"mpi: {}\nruntime: {share: x}\nmpi: {glibc: [x]}\nruntime: {}\n",
     "f:3: mpi: given twice, first on line 1; keep one\n"
     "f:4: runtime: given twice, first on line 2; keep one\n"
     "f:2: runtime.share: expected auto or no, got 'x'\n"},
    {"a: 1\nmpi: &x\n  glibc: [*x]\n", NOT_PLAIN("2")},
    {"mpi: &x {}\nruntime: *x\n", NOT_PLAIN("1")},
    {"&x mpi:\n  *x : 1\n", NOT_PLAIN("1")},
    {"a: *x\n", NOT_PLAIN("1")},
    {"\nmpi: &x {}\n", NOT_PLAIN("2")},
    {"mpi:\n  &x glibc: replace\n", NOT_PLAIN("2")},
    {"mpi: !!map {}\n", NOT_PLAIN("1")},
    {"mpi: {glibc: !!str replace}\n", NOT_PLAIN("1")},
    {"mpi: {order: !!seq []}\n", NOT_PLAIN("1")},
    {"mpi: {order: [! a]}\n", NOT_PLAIN("1")},
    {"\nmpi: !x {}\n", NOT_PLAIN("2")},
    {"mpi: !!python/x {}\n", NOT_PLAIN("1")},
    {"mpi: !!binary eA==\n", NOT_PLAIN("1")},
    {"[a]: 1\n", "f:1: expected a name, then ':'\n"},
    {"a: \"x\\0y\"\n", "f:1: expected a text without NUL, got 'x'\n"},
    {"mpi: {}\n---\nmpi: {}\n", "f:2: a second document ('---'); expected one\n"},
    {"a: [[[[[[[[1]]]]]]]]\n", "f:1: more than 8 levels; shorten the file\n"},
    {"mpi: {}\na: \xff\n", "f:2: the file is not UTF-8 text (invalid leading UTF-8 "
                           "octet); save it as UTF-8\n"},
    {"mpi: {}\n# \x01\n", "f:2: the file is not UTF-8 text (control characters are not "
                          "allowed); save it as UTF-8\n"},
    {"\xff\xfem\n", "f:1: the file is not UTF-8 text (invalid leading UTF-8 octet); "
                    "save it as UTF-8\n"},
};

TEST_ROWS(every_fault_has_its_line_and_key, bad)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *faults = faults_of(bad[_i].text, strlen(bad[_i].text), &site);

    ck_assert_str_eq(faults, bad[_i].faults);
}

static const struct {
    const char *key;
    const char *item;
    const char *place; /* NULL: nowhere */
} places[] = {
    {"mounts.forbidden", "/b", "f:4"},  {"mounts.forbidden", "/other", "f:2"},
    {"mounts.forbidden", "", "f:2"},    {"runtime.raw_args", "", "f:5"},
    {"runtime.raw_args", "--x", "f:5"}, {"mounts.forced", "", NULL},
};

TEST_ROWS(what_is_said_is_found_again, places)
{
    static const char text[] = "mounts:\n  forbidden:\n    - /a\n    - /b\n"
                               "runtime: {raw_args: [--x]}\n";
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *faults = faults_of(text, strlen(text), &site);
    struct berth_err err = {.text = "a; b"};
    char cited[64] = "a; b";
    const char *place;

    ck_assert_str_eq(faults, "");
    place = berth_site_place(&site, places[_i].key, places[_i].item);
    ck_assert_int_eq(berth_site_cite(&site, places[_i].key, places[_i].item, &err), -1);
    if (places[_i].place)
        snprintf(cited, sizeof(cited), "a; b (%s)", places[_i].place);
    ck_assert_str_eq(err.text, cited);
    ck_assert_str_eq(place ? place : "", places[_i].place ? places[_i].place : "");
}

/* COUNT times PIECE between HEAD and TAIL. */
static char *repeat(const char *head, const char *piece, size_t count, const char *tail)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_buf_puts(&buf, head);
    while (count--)
        berth_buf_puts(&buf, piece);
    berth_buf_puts(&buf, tail);
    return berth_steal(&buf.text);
}

TEST(a_file_has_bounds)
{
    BERTH_SITE struct berth_site list = {0};
    BERTH_SITE struct berth_site nested = {0};
    BERTH_SITE struct berth_site long_file = {0};
    BERTH_FREE char *many = repeat("images: {owners: [", "a,", 5000, "]}");
    BERTH_FREE char *open = repeat("", "[", 1000, "");
    BERTH_FREE char *deep = repeat(open, "]", 1000, "");
    BERTH_FREE char *large = repeat("#", "x", 256 << 10, "");
    BERTH_FREE char *first = faults_of(many, strlen(many), &list);
    BERTH_FREE char *second = faults_of(deep, strlen(deep), &nested);
    BERTH_FREE char *third = faults_of(large, strlen(large), &long_file);

    ck_assert_str_eq(first, "f:1: more than 4096 values; shorten the file\n");
    ck_assert_str_eq(second, "f:1: more than 8 levels; shorten the file\n");
    ck_assert_str_eq(third, "f: more than 262144 bytes; shorten the file\n");
}

TEST(a_far_name_is_not_suggested)
{
    static const char *const names[] = {"ab", "abcdefghijklmnopqrstuvwxyz", NULL};
    BERTH_FREE char *long_name = repeat("", "x", 1000, "");
    struct berth_err err;

    ck_assert_int_eq(berth_suggest("b", "a key here", names, &err), -1);
    ck_assert_str_eq(err.text, "'b' is not a key here; did you mean 'ab'?");
    ck_assert_int_eq(berth_suggest("xyz", "a key here", names, &err), -1);
    ck_assert_str_eq(err.text, "'xyz' is not a key here; expected ab or "
                               "abcdefghijklmnopqrstuvwxyz");
    ck_assert_int_eq(berth_suggest(long_name, "a key here", names, &err), -1);
}
