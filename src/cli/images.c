/* SPDX-License-Identifier: Apache-2.0 */
/* berth images: lists the images of the store and of the user's cache, and removes of
 * the cache. What an image is, and what is only a file of the user's, is decided in
 * image/collection.c. */

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/host.h"
#include "image/collection.h"
#include "image/pull.h"

extern char **environ;

/* What is asked for. */
struct pick {
    long days;    /* not used for more than that many; below 0: not asked */
    long keep;    /* beyond that many GiB of what was used last; below 0: not asked */
    char **names; /* ended by NULL; none: all */
    bool removes;
    bool is_json;
};

/* A picked image. */
struct row {
    const struct berth_collection *collection;
    const struct berth_collected *image;
    const char *directory;
    const char *where; /* "cache" or "store" */
    bool stays;        /* only names of it were removed */
};

struct rows {
    struct row *items;
    size_t count, room;
};

static void free_rows(struct rows *rows)
{
    free(rows->items);
}

#define ROWS __attribute__((cleanup(free_rows)))

static bool has_name(const struct pick *pick, const struct berth_collected *image)
{
    for (char **name = pick->names; *name; name++)
        if (berth_collection_means(image, *name))
            return true;
    return !*pick->names;
}

/* Is IMAGE used too recently for PICK? */
static bool is_recent(const struct pick *pick, const struct berth_collected *image,
                      time_t now)
{
    enum { SECONDS_OF_DAY = 86400 };

    return pick->days >= 0 && (now - image->used) / SECONDS_OF_DAY <= pick->days;
}

/* Append to ROWS the images of COLLECTION, which are sorted by their last use, that
 * PICK means. */
static int pick_of(const struct berth_collection *collection, const char *directory,
                   const char *where, const struct pick *pick, struct rows *rows,
                   struct berth_err *err)
{
    enum { GIB = 1 << 30 };
    const time_t now = time(NULL);
    long long newer = 0; /* bytes of what was used later, and of the image itself */

    for (size_t i = 0; i < collection->count; i++) {
        const struct berth_collected *image = &collection->items[i];
        struct row row = {collection, image, directory, where, false};
        bool fits;

        newer += image->bytes;
        fits = pick->keep >= 0 && newer / GIB < pick->keep;
        if (fits || is_recent(pick, image, now) || !has_name(pick, image))
            continue;
        if (berth_append(rows, &row) < 0)
            return berth_err_oom(err);
    }
    return 0;
}

static bool is_in(const struct berth_collection *collection, const char *name)
{
    for (size_t i = 0; i < collection->count; i++)
        if (berth_collection_means(&collection->items[i], name))
            return true;
    return false;
}

/* The name for people: the first URI; of an image to which no link leads, the URI
 * without the tag that it had. The caller frees it. */
static char *name_of(const struct row *row)
{
    const struct berth_strvec *links = &row->image->links;
    char *text;

    if (links->count > 0)
        return berth_collection_uri(links->items[0]);
    if (asprintf(&text, "%s (no tag)", row->image->uri) < 0)
        return NULL;
    return text;
}

/* Bytes of a date and a size as text. */
enum { DATE = 16, SIZE = 32 };

static void format_day(time_t when, char ret[DATE])
{
    struct tm tm;

    strftime(ret, DATE, "%F", localtime_r(&when, &tm));
}

/* Megabytes (10^6 bytes), with a digit after the point where that is needed. */
static void format_size(long long bytes, char ret[SIZE])
{
    double megabytes = (double)bytes / 1e6;

    if (megabytes < 10)
        snprintf(ret, SIZE, "%.1f", megabytes);
    else
        snprintf(ret, SIZE, "%.0f", megabytes);
}

enum { CUT = 12 }; /* digits of a digest */

/* The column WHERE. */
static const char *where_of(const struct row *row)
{
    return row->stays ? "cache, under another name" : row->where;
}

/* Print the other URIs that lead to the image of ROW. */
static int print_others(const struct row *row, struct berth_err *err)
{
    const struct berth_strvec *links = &row->image->links;

    for (size_t i = 1; i < links->count; i++) {
        BERTH_FREE char *other = berth_collection_uri(links->items[i]);

        if (!other)
            return berth_err_oom(err);
        printf("  also %s\n", other);
    }
    return 0;
}

/* Print ROW, and below it the other URIs. */
static int print_row(const struct row *row, int width, struct berth_err *err)
{
    BERTH_FREE char *name = name_of(row);
    char pulled[DATE], used[DATE], size[SIZE];

    if (!name)
        return berth_err_oom(err);
    format_day(row->image->pulled, pulled);
    format_day(row->image->used, used);
    format_size(row->image->bytes, size);
    printf("%-*s  %.*s  %-8s  %7s  %s  %s  %s\n", width, name, CUT, row->image->digest,
           row->image->machine, size, pulled, used, where_of(row));
    return print_others(row, err);
}

/* Set *RET to the width of the longest name. */
static int measure(const struct rows *rows, int *ret, struct berth_err *err)
{
    *ret = (int)strlen("IMAGE");
    for (size_t i = 0; i < rows->count; i++) {
        BERTH_FREE char *name = name_of(&rows->items[i]);

        if (!name)
            return berth_err_oom(err);
        if ((int)strlen(name) > *ret)
            *ret = (int)strlen(name);
    }
    return 0;
}

/* Print how many of ROWS are in their directory, or have been removed from it, and
 * their size. */
static void print_sum(const struct rows *rows, const struct pick *pick)
{
    long long bytes = 0;
    size_t count = 0;
    char size[SIZE];

    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];

        if (row->stays)
            continue;
        bytes += row->image->bytes;
        count++;
    }
    format_size(bytes, size);
    if (pick->removes)
        printf("removed ");
    printf("%zu image%s, %s MB\n", count, berth_text_plural(count), size);
}

static int print_text(const struct rows *rows, const struct pick *pick,
                      struct berth_err *err)
{
    int width;

    if (measure(rows, &width, err) < 0)
        return -1;
    printf("%-*s  %-*s  %-8s  %7s  %-10s  %-10s  %s\n", width, "IMAGE", CUT, "DIGEST",
           "MACHINE", "MB", "PULLED", "USED", "WHERE");
    for (size_t i = 0; i < rows->count; i++)
        if (print_row(&rows->items[i], width, err) < 0)
            return -1;
    print_sum(rows, pick);
    return 0;
}

static void put_time(struct berth_json *json, const char *name, time_t when)
{
    char text[32];
    struct tm tm;

    strftime(text, sizeof(text), "%FT%TZ", gmtime_r(&when, &tm));
    berth_json_string(json, name, text);
}

/* Append all URIs that lead to the image of ROW. */
static void list_names(const struct row *row, struct berth_strvec *ret)
{
    const struct berth_strvec *links = &row->image->links;

    for (size_t i = 0; i < links->count; i++) {
        BERTH_FREE char *uri = berth_collection_uri(links->items[i]);

        if (uri)
            berth_strvec_push(ret, uri);
        else
            ret->failed = true;
    }
}

static void put_row(struct berth_json *json, const struct row *row)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_BUF struct berth_buf path = {0};

    list_names(row, &names);
    berth_buf_addf(&path, "%s/%s", row->directory, row->image->file);
    json->text.failed |= path.failed;

    berth_json_object(json, NULL);
    berth_json_list(json, "names", &names);
    berth_json_string(json, "digest", row->image->digest);
    berth_json_string(json, "machine", row->image->machine);
    berth_json_number(json, "bytes", row->image->bytes);
    put_time(json, "pulled", row->image->pulled);
    put_time(json, "used", row->image->used);
    berth_json_string(json, "where", row->where);
    berth_json_string(json, "path", path.text);
    berth_json_end(json);
}

static int print_json(const struct rows *rows, struct berth_err *err)
{
    BERTH_JSON struct berth_json json = {.pretty = true};

    berth_json_array(&json, NULL);
    for (size_t i = 0; i < rows->count; i++)
        put_row(&json, &rows->items[i]);
    berth_json_end(&json);
    if (json.text.failed)
        return berth_err_oom(err);
    printf("%s\n", json.text.text);
    return 0;
}

static int remove_rows(struct rows *rows, const struct pick *pick,
                       struct berth_err *err)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];

        if (berth_collection_remove(row->collection, row->image, pick->names,
                                    &row->stays, err) < 0)
            return berth_err_at(err, "images: '%s'", row->directory);
    }
    return 0;
}

/* Refuse names that PICK has and no image of both collections. */
static int check_names(const struct pick *pick, const struct berth_collection *store,
                       const struct berth_collection *cache, struct berth_err *err)
{
    const char *or_store = pick->removes ? "" : " or the store";

    for (char **name = pick->names; *name; name++)
        if (!is_in(store, *name) && !is_in(cache, *name))
            return berth_err_set(err, "images: '%s': no such image in your cache%s",
                                 *name, or_store);
    return 0;
}

static int list(const struct pick *pick, const char *store, const char *cache,
                struct berth_err *err)
{
    BERTH_COLLECTION struct berth_collection of_store = BERTH_COLLECTION_NONE;
    BERTH_COLLECTION struct berth_collection of_cache = BERTH_COLLECTION_NONE;
    ROWS struct rows rows = {0};

    /* Only the cache is the user's to remove from. */
    if (!pick->removes && berth_collection_store(store, &of_store, err) < 0)
        return -1;
    if (berth_collection_cache(cache, &of_cache, err) < 0)
        return -1;

    if (pick_of(&of_store, store, "store", pick, &rows, err) < 0)
        return -1;
    if (pick_of(&of_cache, cache, "cache", pick, &rows, err) < 0)
        return -1;
    if (check_names(pick, &of_store, &of_cache, err) < 0)
        return -1;

    if (pick->removes && remove_rows(&rows, pick, err) < 0)
        return -1;
    if (pick->is_json)
        return print_json(&rows, err);
    return print_text(&rows, pick, err);
}

/* Read the number of days or GiB in TEXT. Returns false if it is not a number. */
static bool read_number(const char *text, long *ret)
{
    enum { MOST_DIGITS = 9 };
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > MOST_DIGITS || text[digits])
        return false;
    *ret = strtol(text, NULL, 10);
    return true;
}

/* Read the command line, in which options and names may be mixed. */
static bool read_line(int argc, char **argv, struct pick *ret)
{
    static const struct option options[] = {
        {"unused", required_argument, NULL, 'u'},
        {"keep", required_argument, NULL, 'k'},
        {"remove", no_argument, NULL, 'r'},
        {"json", no_argument, NULL, 'j'},
        {0},
    };
    int letter;

    opterr = 0;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        bool is_read = true;

        if (letter == 'u')
            is_read = read_number(optarg, &ret->days);
        else if (letter == 'k')
            is_read = read_number(optarg, &ret->keep);
        else if (letter == 'r')
            ret->removes = true;
        else if (letter == 'j')
            ret->is_json = true;
        else
            is_read = false;
        if (!is_read)
            return false;
    }
    ret->names = argv + optind;
    return true;
}

/* Would PICK take all images? */
static bool is_for_all(const struct pick *pick)
{
    return !*pick->names && pick->days < 0 && pick->keep < 0;
}

int berth_cli_images(int argc, char **argv)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *cache = NULL;
    const struct berth_pull pull = {.site = &site, .env = environ};
    struct pick pick = {.days = -1, .keep = -1};
    struct berth_err err;

    if (!read_line(argc, argv, &pick))
        return BERTH_CLI_USAGE;
    if (pick.removes && is_for_all(&pick)) {
        berth_err_set(&err, "images: --remove: which? give NAME, --unused or --keep");
        return berth_cli_misused(&err);
    }
    if (berth_site_read_here(environ, &site, &err) < 0)
        return berth_cli_fail(&err);
    if (berth_pull_directory(&pull, &cache, &err) < 0)
        return berth_cli_fail(&err);
    if (list(&pick, site.images.store, cache, &err) < 0)
        return berth_cli_fail(&err);
    return EXIT_SUCCESS;
}
