/* SPDX-License-Identifier: Apache-2.0 */
/* What a site makes of a request: tables of site, request and outcome. */

#include "site/policy.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "site/mountrules.h"
#include "site/rules.h"
#include "request/wire.h"
#include "unit.h"

/* A site as text: KEY=VALUE, separated by spaces; `+` in a value is a space. */
static void say(struct berth_site *site, const char *text);

static struct berth_strvec faults; /* of the rules of the last site */

static void add_rule(struct berth_site *site, enum berth_rule_kind kind, char *value)
{
    struct berth_site_rule *rule;
    struct berth_err err;
    char *part;

    free(site->file);
    site->file = strdup("berth.yaml");
    site->rules = realloc(site->rules, (site->rule_count + 1) * sizeof(*site->rules));
    rule = &site->rules[site->rule_count++];
    *rule = (struct berth_site_rule){0};
    while ((part = strsep(&value, "&"))) {
        char *equals = strchr(part, '=');

        *equals++ = '\0';
        if (strcmp(part, "partition") == 0) {
            rule->partition = strdup(equals);
        } else if (strcmp(part, "account") == 0) {
            rule->account = strdup(equals);
        } else if (berth_rules_add(site, kind, part, equals, 1, &err) < 0) {
            berth_err_at(&err, "berth.yaml:1");
            berth_strvec_push(&faults, err.text);
        }
    }
}

static void say_one(struct berth_site *site, const char *key, char *value)
{
    const struct {
        const char *key;
        struct berth_strvec *list;
    } lists[] = {
        {"args", &site->runtime.args},          {"allow", &site->runtime.allowed},
        {"roots", &site->images.roots},         {"uris", &site->images.uris},
        {"forced", &site->mounts.forced},       {"default", &site->mounts.defaults},
        {"forbidden", &site->mounts.forbidden}, {"unset", &site->environment.unset},
    };

    site->images.has_uris |= strcmp(key, "uris") == 0;
    if (strcmp(key, "allow") == 0)
        site->runtime.raw = BERTH_RAW_LIST;
    if (strcmp(key, "deny") == 0)
        site->runtime.raw = BERTH_RAW_NONE;
    else if (strcmp(key, "rule") == 0)
        add_rule(site, BERTH_RULE_FORCE, value);
    else if (strcmp(key, "usual") == 0)
        add_rule(site, BERTH_RULE_DEFAULT, value);
    else if (strcmp(key, "forbid") == 0)
        add_rule(site, BERTH_RULE_FORBID, value);
    for (int i = 0; i < COUNT(lists); i++)
        if (strcmp(key, lists[i].key) == 0 && *value)
            berth_strvec_push(lists[i].list, value);
}

static void say(struct berth_site *site, const char *text)
{
    BERTH_FREE char *copy = strdup(text);
    char *next = copy;
    char *word;

    *site = berth_site_default();
    berth_strvec_fini(&faults);
    while ((word = strsep(&next, " "))) {
        char *value = strchr(word, '=');

        if (!value)
            continue;
        *value++ = '\0';
        for (char *c = value; *c; c++)
            if (*c == '+')
                *c = ' ';
        say_one(site, word, value);
    }
}

/* The real path of PATH: /link is really /secret/x, /colon has one, /none is not there.
 */
static const char *real_of(const char *path)
{
    static const char *const others[][2] = {
        {"/link", "/secret/x"}, {"/other", "/ok"}, {"/colon", "/a:b"}, {"/none", ""}};

    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(path, others[i][0]) == 0)
            return others[i][1];
    return path;
}

/* The step is in partition `main` and account `climate`, its task in /home/u, with USER
 * and EMPTY exported. Defaults are there but for /none. */
static int decide(const char *site_text, const char *variable, const char *asked,
                  struct berth_buf *ret, struct berth_err *err)
{
    BERTH_SITE struct berth_site site;
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_REQUEST struct berth_request whole = {0};
    BERTH_STRVEC struct berth_strvec mounts = {0};
    BERTH_STRVEC struct berth_strvec sources = {0};
    BERTH_STRVEC struct berth_strvec present = {0};
    char *const environment[] = {(char *)"PATH=/bin", (char *)"USER=u",
                                 (char *)"EMPTY=", (char *)variable, NULL};
    struct berth_mountrules_task task = {environment, "/home/u", "/home/u"};
    struct berth_policy_facts facts = {
        {"main", "climate", false}, environment, &mounts, &sources, &present, 0};

    say(&site, site_text);
    ck_assert_int_eq(berth_wire_get_request(asked, &request, err), 0);
    ck_assert_int_eq(berth_mountrules_list(&request, &task, &mounts, &facts.named, err),
                     0);
    for (size_t i = 0; i < mounts.count; i++) {
        BERTH_FREE char *source =
            strndup(mounts.items[i], strcspn(mounts.items[i], ":"));

        berth_strvec_push(&sources, real_of(source));
    }
    for (size_t i = 0; i < site.mounts.defaults.count; i++)
        if (strncmp(site.mounts.defaults.items[i], "/none:", 6) != 0)
            berth_strvec_push(&present, site.mounts.defaults.items[i]);
    if (faults.count) /* a step ends with the first */
        return berth_err_set(err, "%s", faults.items[0]);
    if (berth_policy_apply(&site, &facts, &request, &whole, err) < 0)
        return -1;
    berth_wire_put_request(ret, &whole);
    return 0;
}

/* What one site makes of what one user asks. */
struct decision {
    const char *site;
    const char *asked;
    const char *runs;
};

static void assert_runs(const struct decision *it)
{
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err = {0};
    int result = decide(it->site, NULL, it->asked, &text, &err);

    ck_assert_msg(result == 0, "%s: %s", it->site, err.text);
    ck_assert_str_eq(text.text, it->runs);
}

static const struct decision as_asked[] = {
    {"", "image=/a&args=--nv", "image=/a&args=--nv"},
    {"rule=container-image=/b", "mpi-bind=off", "mpi-bind=off"},
    {"forced=/x:/x:ro args=--y", "image=none", "image=none"},
    {"uris=docker://h/a", "image=/a", "image=/a"},
};

TEST_ROWS(what_no_rule_concerns_runs_as_asked, as_asked)
{
    assert_runs(&as_asked[_i]);
}

/* The last rule that fits the job wins over the user. */
static const struct decision by_rules[] = {
    {"rule=container-image=/b", "image=/a", "image=/b"},
    {"rule=partition=main&container-image=/b", "image=/a", "image=/b"},
    {"rule=partition=debug&container-image=/b", "image=/a", "image=/a"},
    {"rule=account=climate&container-image=/b", "image=/a", "image=/b"},
    {"rule=account=other&container-image=/b", "image=/a", "image=/a"},
    {"rule=partition=main&account=other&container-image=/b", "image=/a", "image=/a"},
    {"rule=container-image=/b rule=container-image=/c", "image=/a", "image=/c"},
    {"rule=no-container-mount-home=", "image=/a", "image=/a&no-mount-home="},
    {"rule=container-mount-home=yes",
     "image=/a&no-mount-home=", "image=/a&mount-home="},
    {"rule=container-writable=Yes", "image=/a", "image=/a&writable="},
    {"rule=container-writable= rule=container-readonly=", "image=/a",
     "image=/a&readonly="},
    {"forbid=account=other&container-writable=", "image=/a&writable=",
     "image=/a&writable="},
    {"forbid=container-writable=", "image=/a", "image=/a"},
};

TEST_ROWS(a_rule_decides, by_rules)
{
    assert_runs(&by_rules[_i]);
}

static const struct decision defaults[] = {
    {"usual=container-lifetime=job", "image=/a", "image=/a&lifetime=job"},
    {"usual=container-lifetime=job", "image=/a&lifetime=step",
     "image=/a&lifetime=step"},
    {"rule=container-lifetime=job", "image=/a&lifetime=step", "image=/a&lifetime=job"},
    {"usual=container-libs=auto", "image=/a",
     "image=/a&mpi-bind=hybrid&libs=auto&site=mpi-bind"},
    {"usual=mpi-bind=hybrid", "image=/a&mpi-bind=off", "image=/a&mpi-bind=off"},
    {"usual=mpi-bind=hybrid usual=partition=main&mpi-bind=host", "image=/a",
     "image=/a&mpi-bind=host&site=mpi-bind"},
    {"usual=mpi-bind=hybrid usual=partition=debug&mpi-bind=host", "image=/a",
     "image=/a&mpi-bind=hybrid&site=mpi-bind"},
};

TEST_ROWS(a_default_is_for_who_says_nothing, defaults)
{
    assert_runs(&defaults[_i]);
}

/* Root in the container installs packages, and a name is for changes that last. */
static const struct decision writable[] = {
    {"", "image=/a&remap-root=", "image=/a&writable=&remap-root="},
    {"", "image=/a&readonly=&remap-root=", "image=/a&readonly=&remap-root="},
    {"rule=container-readonly=", "image=/a&remap-root=",
     "image=/a&readonly=&remap-root="},
    {"forbid=container-writable=", "image=/a&remap-root=", "image=/a&remap-root="},
    /* and who saves a container has changed it */
    {"", "image=/a&save=/a.sif", "image=/a&writable=&save=/a.sif"},
    {"", "image=/a&readonly=&save=/a.sif", "image=/a&readonly=&save=/a.sif"},
    {"forbid=container-writable=", "image=/a&save=/a.sif", "image=/a&save=/a.sif"},
    {"", "image=/a&remap-root=&explain=text",
     "image=/a&writable=&remap-root=&explain=text"},
    {"", "image=/a&name=work&explain=text",
     "image=/a&writable=&name=work&explain=text"},
    {"forbid=account=other&container-writable=", "image=/a&remap-root=",
     "image=/a&writable=&remap-root="},
    {"usual=container-lifetime=step", "image=/a&name=work",
     "image=/a&writable=&lifetime=step&name=work"},
    {"forbid=container-writable=", "image=/a&name=work&readonly=",
     "image=/a&readonly=&name=work"},
};

TEST_ROWS(root_and_a_name_make_an_image_writable, writable)
{
    assert_runs(&writable[_i]);
}

static const struct decision site_mounts[] = {
    {"rule=container-mounts=/s:/d", "image=/a&mounts=/u:/d:rw&mounts=/e:/e:rw",
     "image=/a&mounts=/e:/e:rw&mounts=/s:/d:rw"},
    {"rule=container-mounts=/s:/d", "image=/a&mounts=/u:/d/../d/:rw",
     "image=/a&mounts=/s:/d:rw"},
    {"forced=/x:/y:ro", "image=/a&mounts=/u:/u:rw",
     "image=/a&mounts=/u:/u:rw&mounts=/x:/y:ro"},
    {"forced=/x:/x:ro", "image=/a&mounts=/x/u:/x/u:rw",
     "image=/a&mounts=/x/u:/x/u:rw&mounts=/x:/x:ro"},
    {"forced=/home:/home:rw", "image=/a", "image=/a&mounts=/home:/home:rw"},
    {"forced=/x:/y:ro forbidden=/secret", "image=/a&mounts=tmpfs:/x&mounts=umount:/z",
     "image=/a&mounts=tmpfs:/x&mounts=umount:/z&mounts=/x:/y:ro"},
    {"forced=/x:/y:ro rule=container-mounts=/r:/y", "image=/a",
     "image=/a&mounts=/r:/y:rw"},
    {"default=/x:/y:ro default=/none:/n:ro", "image=/a", "image=/a&mounts=/x:/y:ro"},
    {"default=/x:/y:ro", "image=/a&mounts=/u:/y:rw", "image=/a&mounts=/u:/y:rw"},
    {"default=/x:/y:ro forced=/z:/y:ro", "image=/a", "image=/a&mounts=/z:/y:ro"},
    {"forbidden=/secret", "image=/a&mounts=/secrets:/s:rw",
     "image=/a&mounts=/secrets:/s:rw"},
};

TEST_ROWS(a_mount_of_the_site_wins_at_its_place, site_mounts)
{
    assert_runs(&site_mounts[_i]);
}

/* USER and EMPTY are exported. */
static const struct decision site_variables[] = {
    {"usual=container-env=A=1", "image=/a&env=B%3D2", "image=/a&env=A%3D1&env=B%3D2"},
    {"usual=container-env=A=1", "image=/a&env=A%3D2", "image=/a&env=A%3D1&env=A%3D2"},
    {"usual=container-env=USER=1", "image=/a", "image=/a&env=USER"},
    {"usual=container-env=USER=1", "image=/a&env=USER%3D2",
     "image=/a&env=USER&env=USER%3D2"},
    {"usual=container-env=USER=1,USE=2,USERS=3", "image=/a",
     "image=/a&env=USER&env=USE%3D2&env=USERS%3D3"},
    {"usual=container-env=EMPTY=1", "image=/a", "image=/a&env=EMPTY"},
    {"usual=container-env=USER=1 unset=USER", "image=/a", "image=/a&env=USER%3D1"},
};

TEST_ROWS(a_variable_of_the_user_wins_over_a_default, site_variables)
{
    assert_runs(&site_variables[_i]);
}

/* It wins, as the runtime takes the last; and no flag of the user takes it as a value.
 */
static const struct decision site_flags[] = {
    {"rule=container-args=--pid deny=", "image=/a", "image=/a&args=--pid"},
    {"rule=container-args=--pid args=--x", "image=/a&args=--nv",
     "image=/a&args=--nv&args=--disable-cache&args=--x&args=--pid"},
    {"rule=container-args=--contain", "image=/a&args=--contain%3Dfalse",
     "image=/a&args=--contain%3Dfalse&args=--disable-cache&args=--contain"},
    {"args=--contain", "image=/a&args=--env&args=A%3D1&args=-B&args=/b&args=-c",
     "image=/a&args=--env%3DA%3D1&args=-B%3D/"
     "b&args=-c&args=--disable-cache&args=--contain"},
    {"args=--contain", "image=/a&args=--cleanenv&args=/b.sif",
     "image=/a&args=--cleanenv%3D/b.sif&args=--disable-cache&args=--contain"},
    {"args=--contain", "image=/a&args=--cleanenv&args=--",
     "image=/a&args=--cleanenv%3D--&args=--disable-cache&args=--contain"},
    {"args=--contain", "image=/a&args=--env", /* and not the site's flag as its value */
     "image=/a&args=--env&args=--disable-cache&args=--contain"},
    {"args=--contain", "image=/a", "image=/a&args=--contain"},
};

TEST_ROWS(a_flag_of_the_site_is_the_last, site_flags)
{
    assert_runs(&site_flags[_i]);
}

static const struct decision user_flags[] = {
    {"allow=--nv", "image=/a&args=--nv", "image=/a&args=--nv"},
    {"allow=--bind+/scratch/*", "image=/a&args=--bind&args=/scratch/x",
     "image=/a&args=--bind&args=/scratch/x"},
    {"allow=--bind=/scratch/*", "image=/a&args=--bind%3D/scratch/x",
     "image=/a&args=--bind%3D/scratch/x"},
    {"allow=--bind=/scratch/*:/b forbidden=/secret",
     "image=/a&args=--bind%3D/scratch/x:/b", "image=/a&args=--bind%3D/scratch/x:/b"},
};

TEST_ROWS(a_flag_that_is_listed_is_allowed, user_flags)
{
    assert_runs(&user_flags[_i]);
}

/* Beside flags like options that a rule forbids. */
static const struct decision like[] = {
    {"forbid=container-writable=",
     "image=/a&args=--writable-tmpfs%3Dfalse&args=-B&args=/w",
     "image=/a&args=--writable-tmpfs%3Dfalse&args=-B&args=/w"},
    {"forbid=container-writable=", "image=/a&args=-B/w:/w", "image=/a&args=-B/w:/w"},
    {"forbid=no-container-mount-home=", "image=/a&args=--no-mount%3Dsys",
     "image=/a&args=--no-mount%3Dsys"},
    {"forbid=account=other&container-args=", "image=/a&args=--nv",
     "image=/a&args=--nv"},
    {"unset=FOO", "image=/a&args=--env&args=BAR%3D1",
     "image=/a&args=--env&args=BAR%3D1"},
    {"rule=mpi-bind=", "image=/a&mpi-bind=off", "image=/a&mpi-bind=auto&site=mpi-bind"},
};

TEST_ROWS(a_flag_that_does_something_else_is_allowed, like)
{
    assert_runs(&like[_i]);
}

#define ALLOWS(what)                                                                   \
    "--container-args: '" what "': this site does not allow it; it allows "
#define FORBIDS(mount)                                                                 \
    "mount '" mount                                                                    \
    "': this site forbids '/secret', everything in it and the directories above it; "  \
    "leave the mount out, or start in another directory if this is the working "       \
    "directory"
#define IS_FLAG(name)                                                                  \
    name ": this variable is a flag for the container runtime, and this site does "    \
         "not allow it; unset it"
#define NO_SOURCE                                                                      \
    "mount '/none:/x:rw': its source is really '', which this site does not mount; "   \
    "create it before the step, and give its real path, without ':', with "            \
    "--container-mounts"
#define MOUNTED_THERE(mount)                                                           \
    "mount '" mount                                                                    \
    "': this site itself mounts '/x:/y:ro' there; choose another place in the image"
#define ONLY_BY_OPTION(name)                                                           \
    name ": this site restricts mounts, and takes them from --container-mounts only; " \
         "leave it out"
#define ONLY_MOUNTS(what) ONLY_BY_OPTION("--container-args: '" what "'")
#define FORBIDDEN(option)                                                              \
    "--container-" option ": a rule of this site forbids it; leave it out "            \
    "(berth.yaml:1)"
#define NOT_FLAG(word)                                                                 \
    "--container-args: '" word "' is not a flag, nor the value of one; write "         \
    "--FLAG=VALUE, and the image with --container-image"
#define LIKE_VARIABLE(text, option)                                                    \
    "'" text "': it does what --" option " does, which a rule of this site forbids; "  \
    "leave it out (berth.yaml:1)"
#define LIKE_FLAG(text, option) "--container-args: " LIKE_VARIABLE(text, option)
#define IS_RUNTIMES(name, option)                                                      \
    name ": this variable is for the container runtime, and a rule of this site "      \
         "forbids --" option "; unset it (berth.yaml:1)"
#define UNSET(where)                                                                   \
    where ": 'FOO': this site unsets it in every container; leave it out"

/* A request that a site refuses. */
struct refusal {
    const char *site;
    const char *variable; /* of the environment; NULL: none */
    const char *asked;
    const char *error;
};

static void assert_refused(const struct refusal *it)
{
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err = {0};
    int result = decide(it->site, it->variable, it->asked, &text, &err);

    ck_assert_msg(result == -1, "%s: %s", it->site, text.text);
    ck_assert_str_eq(err.text, it->error);
}

static const struct refusal wrong_rules[] = {
    {"rule=colour=red", NULL, "image=/a",
     "berth.yaml:1: rule 1: 'colour' is not an option; expected a name like "
     "container-image"},
    {"rule=gpu=nvidia", NULL, "image=/a",
     "berth.yaml:1: rule 1: 'gpu' is not an option; did you mean 'container-gpu'?"},
    {"rule=mpi=host", NULL, "image=/a",
     "berth.yaml:1: rule 1: 'mpi' is not an option; did you mean 'mpi-bind'?"},
    {"rule=container-writable=maybe", NULL, "image=/a",
     "berth.yaml:1: rule 1: container-writable: expected yes, got 'maybe'; the "
     "opposite "
     "is container-readonly: yes"},
    {"rule=no-container-mount-home=no", NULL, "image=/a",
     "berth.yaml:1: rule 1: no-container-mount-home: expected yes, got 'no'; the "
     "opposite is container-mount-home: yes"},
    {"usual=container-mounts=/a", NULL, "image=/a",
     "berth.yaml:1: rule 1: container-mounts: it cannot be a default; force it, or "
     "write "
     "mounts.default or runtime.args"},
    {"forbid=colour=", NULL, "image=/a",
     "berth.yaml:1: rule 1: 'colour' is not an option; expected a name like "
     "container-image"},
    {"rule=container-mount-home=yes&no-container-mount-home=yes", NULL, "image=/a",
     "berth.yaml:1: rule 1: no-container-mount-home: given together with its "
     "opposite; expected one of --container-mount-home and --no-container-mount-home"},
    {"rule=container-explain=text", NULL, "image=/a",
     "berth.yaml:1: rule 1: container-explain: a rule cannot set this option, because "
     "no "
     "step would run; leave it out"},
    {"rule=container-image=/b rule=partition=x&container-workdir=w", NULL, "image=/a",
     "berth.yaml:1: rule 2: container-workdir: expected a directory in the image, from "
     "/, got 'w'"},
    {"rule=container-image=none", NULL, "image=/a",
     "berth.yaml:1: rule 1: container-image: expected an image, got 'none'"},
    /* %3D is for an order, not for a site */
    {"rule=container-env=A%3D1", NULL, "image=/a",
     "berth.yaml:1: rule 1: container-env: 'A%3D1' is not a variable; expected NAME or "
     "NAME=VALUE, with letters, digits and _ in NAME"},
};

TEST_ROWS(a_rule_that_cannot_be_is_named, wrong_rules)
{
    assert_refused(&wrong_rules[_i]);
}

static const struct refusal forbidden[] = {
    {"forbid=container-remap-root=", NULL,
     "image=/a&remap-root=", FORBIDDEN("remap-root")},
    {"forbid=container-mounts=", NULL, "image=/a&mounts=tmpfs:/x", FORBIDDEN("mounts")},
    {"forbid=container-writable=", NULL, "image=/a&name=work",
     "--container-name: the image could be written to, and a rule of this site forbids "
     "--container-writable; add --container-readonly (berth.yaml:1)"},
    {"forbid=container-lifetime=", NULL, "image=/a&name=work",
     "--container-name: the job would keep the container, and a rule of this site "
     "forbids "
     "--container-lifetime; leave it out (berth.yaml:1)"},
    {"forbid=container-name=", NULL, "image=/a&name=work", FORBIDDEN("name")},
    {"rule=container-lifetime=step", NULL, "image=/a&name=work",
     "--container-name: a rule of this site ends each container with its step "
     "(container-lifetime: step in berth.yaml); leave it out"},
    {"forbid=container-writable=", NULL, "image=/a&writable=", FORBIDDEN("writable")},
    {"forbid=account=climate&container-env=", NULL, "image=/a&env=A", FORBIDDEN("env")},
};

TEST_ROWS(an_option_that_a_rule_forbids_is_named, forbidden)
{
    assert_refused(&forbidden[_i]);
}

static const struct refusal flags[] = {
    {"deny=", NULL, "image=/a&args=--nv",
     "--container-args: this site does not allow it; leave it out"},
    {"deny=", NULL, "image=/a&remap-root=",
     "--container-remap-root: it is the flag --fakeroot of the runtime, which this "
     "site does not allow; leave it out"},
    {"deny=", NULL, "image=/a&mounts=umount:/home/u",
     "--container-mounts: 'umount:/home/u': it does what the flag --no-mount of the "
     "runtime does, which this site does not allow; leave it out"},
    {"deny=", "APPTAINER_BIND=/x", "image=/a", IS_FLAG("APPTAINER_BIND")},
    {"allow=--nv", "SINGULARITY_PID=1", "image=/a", IS_FLAG("SINGULARITY_PID")},
    {"allow=--nv allow=--pid", NULL, "image=/a&args=--ipc",
     ALLOWS("--ipc") "--nv, --pid"},
    {"allow=", NULL, "image=/a&args=--ipc", ALLOWS("--ipc") "none"},
    {"allow=--b+/s/*", NULL, "image=/a&args=--b&args=/t", ALLOWS("--b /t") "--b /s/*"},
    {"allow=--b+/s/*", NULL, "image=/a&args=--b&args=/s/../t",
     ALLOWS("--b /s/../t") "--b /s/*"},
    {"allow=--b+/s/*", NULL, "image=/a&args=--b&args=/s/x,/t",
     ALLOWS("--b /s/x,/t") "--b /s/*"},
    {"allow=--b+/s/*", NULL, "image=/a&args=--b&args=/s/x:/etc",
     ALLOWS("--b /s/x:/etc") "--b /s/*"},
    {"allow=--b=/s/*", NULL, "image=/a&args=--b%3D/s/x/..",
     ALLOWS("--b=/s/x/..") "--b=/s/*"},
    {"allow=--b+/s/*", NULL, "image=/a&args=--b", ALLOWS("--b") "--b /s/*"},
    {"allow=--nv allow=*", NULL, "image=/a&args=--nv&args=/evil.sif",
     ALLOWS("--nv /evil.sif") "--nv, *"},
    {"allow=--b+/s/*", NULL, "image=/a&args=--b&args=/s/x&args=/evil.sif",
     ALLOWS("/evil.sif") "--b /s/*"},
    {"args=--contain", NULL, "image=/a&args=--x%3D1&args=/b.sif", NOT_FLAG("/b.sif")},
    {"args=--contain", NULL, "image=/a&args=--nv&args=--x%3D1&args=--", NOT_FLAG("--")},
    {"args=--contain", NULL, "image=/a&args=-", NOT_FLAG("-")},
};

TEST_ROWS(a_flag_that_is_not_allowed_is_named, flags)
{
    assert_refused(&flags[_i]);
}

static const struct refusal likes[] = {
    {"forbid=no-container-mount-home=", NULL, "image=/a&mounts=umount:/home/u",
     "--container-mounts: 'umount:/home/u': it could do what "
     "--no-container-mount-home does, which a rule of this site forbids; leave it out "
     "(berth.yaml:1)"},
    {"forbid=container-remap-root=", NULL, "image=/a&args=--fakeroot",
     LIKE_FLAG("--fakeroot", "container-remap-root")},
    {"forbid=container-writable=", NULL, "image=/a&args=--writable-tmpfs",
     LIKE_FLAG("--writable-tmpfs", "container-writable")},
    {"forbid=container-writable=", NULL, "image=/a&args=-cw",
     LIKE_FLAG("-cw", "container-writable")},
    {"forbid=container-writable=", NULL, "image=/a&args=--overlay&args=/x",
     LIKE_FLAG("--overlay", "container-writable")},
    {"forbid=container-writable=", "APPTAINER_WRITABLE_TMPFS=1", "image=/a",
     LIKE_VARIABLE("APPTAINER_WRITABLE_TMPFS", "container-writable")},
    {"forbid=container-mounts=", "SINGULARITY_BINDPATH=/x", "image=/a",
     LIKE_VARIABLE("SINGULARITY_BINDPATH", "container-mounts")},
    {"forbid=container-mounts=", NULL, "image=/a&args=-B/x",
     LIKE_FLAG("-B/x", "container-mounts")},
    {"forbid=no-container-mount-home=", "APPTAINER_NO_MOUNT=sys,home", "image=/a",
     LIKE_VARIABLE("APPTAINER_NO_MOUNT", "no-container-mount-home")},
    {"forbid=container-gpu=", "APPTAINER_NV=1", "image=/a",
     LIKE_VARIABLE("APPTAINER_NV", "container-gpu")},
    {"forbid=container-env=", NULL, "image=/a&args=--env&args=A%3D1",
     LIKE_FLAG("--env", "container-env")},
    {"forbid=container-env=", "APPTAINERENV_A=1", "image=/a",
     IS_RUNTIMES("APPTAINERENV_A", "container-env")},
    {"forbid=container-args=", "APPTAINER_CONTAIN=1", "image=/a",
     IS_RUNTIMES("APPTAINER_CONTAIN", "container-args")},
    {"forbid=account=climate&container-args=", "SINGULARITY_BIND=/x", "image=/a",
     IS_RUNTIMES("SINGULARITY_BIND", "container-args")},
};

TEST_ROWS(a_flag_that_does_what_is_forbidden_is_named, likes)
{
    assert_refused(&likes[_i]);
}

static const struct refusal unset[] = {
    {"unset=FOO", NULL, "image=/a&args=--env&args=A%3D1,FOO%3D1",
     UNSET("--container-args: --env")},
    {"unset=FOO", NULL, "image=/a&args=--env%3DFOO%3D1",
     UNSET("--container-args: --env")},
    {"unset=FOO", "APPTAINER_ENV=FOO=1", "image=/a", UNSET("APPTAINER_ENV")},
    {"unset=FOO", NULL, "image=/a&args=--env-file%3D/f",
     "--container-args: --env-file: this site unsets variables in every container, and "
     "berth does not read the file; write --container-env"},
    {"unset=FOO", "SINGULARITY_ENV_FILE=/f", "image=/a",
     "SINGULARITY_ENV_FILE: this site unsets variables in every container, and berth "
     "does not read the file; write --container-env"},
    {"unset=A", NULL, "image=/a&env=A%3D1",
     "--container-env: 'A': this site unsets it in every container; leave it out"},
    {"unset=A", NULL, "image=/a&env=A",
     "--container-env: 'A': this site unsets it in every container; leave it out"},
};

TEST_ROWS(a_variable_that_the_site_unsets_is_named, unset)
{
    assert_refused(&unset[_i]);
}

/* Whatever its path is written like, and whoever asks for it. */
static const struct refusal mount_places[] = {
    {"forbidden=/secret", NULL, "image=/a&mounts=/secret:/x:rw",
     FORBIDS("/secret:/x:rw")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/secret/y:/x:ro",
     FORBIDS("/secret/y:/x:ro")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/x/..//./secret:/x:rw",
     FORBIDS("/x/..//./secret:/x:rw")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/:/x:rw", FORBIDS("/:/x:rw")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/..:/x:rw", FORBIDS("/..:/x:rw")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/link:/x:rw", FORBIDS("/link:/x:rw")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/x:/secret:rw",
     FORBIDS("/x:/secret:rw")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/x:/y/../secret/z:rw",
     FORBIDS("/x:/secret/z:rw")},
    {"forbidden=/secret", "APPTAINER_BIND=/ok,/secret", "image=/a",
     FORBIDS("/secret:/secret:rw")},
    {"forbidden=/secret", "SINGULARITY_BINDPATH=../../secret:x:ro", "image=/a",
     FORBIDS("/home/u/../../secret:/x:ro")},
    {"forbidden=/secret", NULL, "image=/a&mounts=//secret//:/x:ro",
     FORBIDS("//secret//:/x:ro")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/none:/x:rw", NO_SOURCE},
    {"forbidden=/secret", "APPTAINER_BIND=/none:/x", "image=/a", NO_SOURCE},
    {"forbidden=/secret", NULL, "image=/a&mounts=/colon:/x:rw",
     "mount '/colon:/x:rw': its source is really '/a:b', which this site does not "
     "mount; create it before the step, and give its real path, without ':', with "
     "--container-mounts"},
    {"forbidden=/secret", "APPTAINER_BIND=/other:/x", "image=/a",
     "mount '/other:/x:rw': its source is really '/ok', which this site does not "
     "mount; create it before the step, and give its real path, without ':', with "
     "--container-mounts"},
    {"forced=/x:/y:ro", NULL, "image=/a&mounts=/e:/y/bin:rw",
     MOUNTED_THERE("/e:/y/bin:rw")},
    {"forced=/x:/y:ro", NULL, "image=/a&mounts=/x/b:/y/c:rw",
     MOUNTED_THERE("/x/b:/y/c:rw")},
    {"forced=/x:/y:ro", NULL, "image=/a&mounts=tmpfs:/y/bin",
     MOUNTED_THERE("tmpfs:/y/bin")},
    {"forced=/x:/y/z:ro", NULL, "image=/a&mounts=umount:/y",
     "mount 'umount:/y': this site itself mounts '/x:/y/z:ro' there; choose another "
     "place in the image"},
    {"forbidden=/secret", NULL, "image=/a&mounts=tmpfs:/secret/x",
     "mount 'tmpfs:/secret/x': this site forbids '/secret', everything in it and the "
     "directories above it; leave the mount out, or start in another directory if "
     "this is the working directory"},
    {"forbidden=/home/u", NULL, "image=/a",
     "mount '/home/u:/home/u:rw': this site forbids '/home/u', everything in it and "
     "the directories above it; leave the mount out, or start in another directory if "
     "this is the working directory"},
};

TEST_ROWS(a_mount_that_is_forbidden_is_named, mount_places)
{
    assert_refused(&mount_places[_i]);
}

/* Not by a variable or a flag of the runtime. */
static const struct refusal mount_doors[] = {
    {"forbidden=/secret", "APPTAINER_MOUNT=type=bind", "image=/a",
     ONLY_BY_OPTION("APPTAINER_MOUNT")},
    {"forbidden=/secret", "APPTAINER_BIND=/a\\:b:/x", "image=/a",
     ONLY_BY_OPTION("APPTAINER_BIND")},
    {"forbidden=/secret", "SINGULARITY_CONTAINLIBS=/secret/x", "image=/a",
     ONLY_BY_OPTION("SINGULARITY_CONTAINLIBS")},
    {"forced=/x:/y:ro", "APPTAINER_CONFIG_FILE=/mine", "image=/a",
     ONLY_BY_OPTION("APPTAINER_CONFIG_FILE")},
    {"forbidden=/secret", NULL, "image=/a&args=--containlibs%3D/x",
     ONLY_MOUNTS("--containlibs=/x")},
    {"forbidden=/secret", NULL, "image=/a&args=--bind&args=/secret",
     ONLY_MOUNTS("--bind")},
    {"forbidden=/secret", NULL, "image=/a&args=--bind%3D/x", ONLY_MOUNTS("--bind=/x")},
    {"forbidden=/secret", NULL, "image=/a&args=-eB/x", ONLY_MOUNTS("-eB/x")},
    {"forced=/x:/y:ro", NULL, "image=/a&args=--overlay", ONLY_MOUNTS("--overlay")},
    {"forbidden=/secret", NULL, "image=/a&args=--device", ONLY_MOUNTS("--device")},
    {"forbidden=/secret", NULL, "image=/a&gpu=v.com/x%3D0",
     ONLY_BY_OPTION("--container-gpu: 'v.com/x=0'")},
};

TEST_ROWS(a_mount_comes_in_by_the_option_alone, mount_doors)
{
    assert_refused(&mount_doors[_i]);
}

/* What no node would let through is told where the command is typed. */
static const struct {
    const char *site;
    const char *variable; /* of the environment; NULL: that is not known */
    const char *asked;
    const char *error; /* NULL: only a node can tell */
} early[] = {
    {"deny=", "APPTAINER_BIND=/x", "image=/a", IS_FLAG("APPTAINER_BIND")},
    {"forbidden=/secret", "APPTAINER_MOUNT=type=bind", "image=/a",
     ONLY_BY_OPTION("APPTAINER_MOUNT")},
    {"deny=", "APPTAINER_DOCKER_PASSWORD=x", "image=/a", NULL},
    {"deny=", NULL, "image=/a&args=--nv",
     "--container-args: this site does not allow it; leave it out"},
    {"forbidden=/secret", NULL, "image=/a&mounts=/secret/x:/x:ro",
     FORBIDS("/secret/x:/x:ro")},
    {"forbidden=/secret", NULL, "image=/a&args=-B", ONLY_MOUNTS("-B")},
    {"forbidden=/secret", NULL, "image=/a&mounts=/link:/x:ro", NULL},
    {"deny=", NULL, "image=none", NULL},
    {"forbid=container-writable=", NULL, "image=/a&writable=", FORBIDDEN("writable")},
    {"forbid=container-writable=", NULL, "image=none", NULL},
    {"forbid=partition=main&container-writable=", NULL, "image=/a&writable=", NULL},
};

TEST_ROWS(a_refusal_costs_no_allocation, early)
{
    BERTH_SITE struct berth_site site;
    BERTH_REQUEST struct berth_request request = {0};
    char *const environment[] = {(char *)early[_i].variable, NULL};
    struct berth_err err = {0};

    say(&site, early[_i].site);
    ck_assert_int_eq(berth_wire_get_request(early[_i].asked, &request, &err), 0);
    ck_assert_int_eq(berth_policy_check_early(&site, &request,
                                              early[_i].variable ? environment : NULL,
                                              &err),
                     early[_i].error ? -1 : 0);
    ck_assert_str_eq(err.text, early[_i].error ? early[_i].error : "");
}

static const struct {
    const char *site;
    const char *asked;
    const char *told;
} replaced[] = {
    {"rule=container-image=/b", "image=/a",
     "--container-image: a rule of this site replaces '/a' by '/b' "
     "(berth.yaml:1)\n"},
    {"rule=container-image=/b", "image=/b", ""},
    {"rule=account=other&container-image=/b", "image=/a", ""},
    {"rule=mpi-bind=host rule=mpi-bind=off", "image=/a&mpi-bind=hybrid",
     "--mpi-bind: a rule of this site replaces 'hybrid' by 'off' "
     "(berth.yaml:1)\n"},
    {"rule=mpi-bind=host", "image=/a", ""},
    {"rule=container-mount-home=yes", "image=/a&no-mount-home=",
     "--no-container-mount-home: a rule of this site sets the opposite "
     "(berth.yaml:1)\n"},
    {"rule=container-mount-home=yes", "image=/a&mount-home=", ""},
    {"rule=container-mounts=/s:/d", "image=/a&mounts=/u:/d:rw", ""},
};

TEST_ROWS(who_gets_another_value_is_told, replaced)
{
    const struct berth_rules_job job = {"main", "climate", false};
    BERTH_SITE struct berth_site site;
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec told = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_err err = {0};

    say(&site, replaced[_i].site);
    ck_assert_int_eq(berth_wire_get_request(replaced[_i].asked, &request, &err), 0);
    berth_rules_report(&site, &job, &request, &told);
    lines = told.count ? unit_lines(&told) : strdup("");
    ck_assert_str_eq(lines, replaced[_i].told);
}

TEST(all_faults_come_at_once)
{
    BERTH_SITE struct berth_site site;
    BERTH_FREE char *lines = NULL;

    say(&site, "rule=gpu=nvidia&container-writable=maybe rule=container-workdir=w");
    lines = unit_lines(&faults);
    ck_assert_str_eq(
        lines,
        "berth.yaml:1: rule 1: 'gpu' is not an option; did you mean 'container-gpu'?\n"
        "berth.yaml:1: rule 1: container-writable: expected yes, got 'maybe'; the "
        "opposite is container-readonly: yes\n"
        "berth.yaml:1: rule 2: container-workdir: expected a "
        "directory in the image, from /, got 'w'\n");
}

TEST(the_home_directory_is_a_mount)
{
    BERTH_REQUEST struct berth_request request = {.home = BERTH_YES};
    BERTH_STRVEC struct berth_strvec mounts = {0};
    BERTH_FREE char *lines = NULL;
    char *const environment[] = {NULL};
    struct berth_mountrules_task task = {environment, "/secret", "/"};
    struct berth_err err;
    size_t named;

    ck_assert_int_eq(berth_mountrules_list(&request, &task, &mounts, &named, &err), 0);
    lines = unit_lines(&mounts);
    ck_assert_str_eq(lines, "/secret:/secret:rw\n");
}

TEST(variables_of_the_runtime_itself_are_no_flags)
{
    static const char *const of_pulls[] = {
        "APPTAINER_NOHTTPS=1",         "SINGULARITY_NOHTTPS=1",
        "APPTAINER_DOCKER_USERNAME=u", "SINGULARITY_DOCKER_USERNAME=u",
        "APPTAINER_DOCKER_PASSWORD=p", "SINGULARITY_DOCKER_PASSWORD=p",
        "SINGULARITY_SYPGPDIR=/k",
    };
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err = {0};

    ck_assert(decide("deny=", "APPTAINER_CACHEDIR=/x", "image=/a", &text, &err) == 0);
    for (size_t i = 0; i < COUNT(of_pulls); i++)
        ck_assert_int_eq(decide("deny=", of_pulls[i], "image=/a", &text, &err), 0);
    ck_assert_int_eq(decide("deny=", "APPTAINERENV_X=1", "image=/a", &text, &err), 0);
    ck_assert(decide("allow=--nv", "APPTAINER_NV=yes", "image=/a", &text, &err) == 0);
}

TEST(an_empty_variable_of_the_runtime_asks_for_nothing)
{
    static const char *const rules[] = {
        "deny=", "allow=--nv", "forbidden=/secret",
        "forbid=container-mounts=", "forbid=container-args="};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err = {0};

    for (size_t i = 0; i < COUNT(rules); i++)
        ck_assert_msg(decide(rules[i], "APPTAINER_BIND=", "image=/a", &text, &err) == 0,
                      "%s: %s", rules[i], err.text);
    ck_assert_int_eq(
        decide("forbid=container-env=", "APPTAINERENV_A=", "image=/a", &text, &err),
        -1);
}

static const struct {
    const char *site, *said;        /* of --container-lifetime */
    bool mpi, job, joins, declined; /* joins ranks if the user says nothing, or no */
} words[] = {
    {"", NULL, false, false, false, false},
    {"", "job", false, true, false, false},
    {"", "step", false, false, false, false},
    {"usual=container-lifetime=job", NULL, false, true, false, false},
    {"usual=container-lifetime=job", "step", false, false, false, false},
    {"rule=container-lifetime=job", "step", false, true, false, false},
    {"usual=mpi-bind=auto", NULL, true, false, true, false},
    {"usual=mpi-bind=off&container-libs=none", NULL, true, false, false, false},
    {"usual=container-libs=auto", NULL, true, false, true, false},
    {"usual=partition=gpu&mpi-bind=host", NULL, true, false, true, false},
    {"rule=container-env=A rule=account=x&mpi-bind=off", NULL, true, 0, false, false},
    {"rule=mpi-bind=local rule=container-libs=none", NULL, true, 0, false, false},
    {"rule=mpi-bind=local rule=account=x&mpi-bind=host", NULL, true, 0, true, true},
    {"rule=container-libs=auto", NULL, true, 0, true, true},
};

TEST_ROWS(a_site_may_say_mode_and_lifetime, words)
{
    BERTH_SITE struct berth_site site = berth_site_default();

    say(&site, words[_i].site);
    ck_assert_int_eq(berth_policy_may_set_mpi(&site), words[_i].mpi);
    ck_assert_int_eq(berth_policy_may_last_job(&site, words[_i].said), words[_i].job);
    ck_assert_int_eq(berth_policy_may_join_ranks(&site, BERTH_UNSAID), words[_i].joins);
    ck_assert_int_eq(berth_policy_may_join_ranks(&site, BERTH_NO), words[_i].declined);
}
