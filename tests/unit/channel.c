/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the process in a container and the one on the host. */

#include "ipc/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static int ends[2];
static struct berth_channel_message message;
static struct berth_err err;

static void open_ends(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_ends(void)
{
    close(ends[0]);
    close(ends[1]);
}

TEST(messages_arrive_whole_and_in_order)
{
    ck_assert_int_eq(berth_channel_send(ends[0], BERTH_CHANNEL_STAGED, "/a\n/b", &err),
                     0);
    ck_assert_int_eq(berth_channel_send(ends[0], BERTH_CHANNEL_DONE, "", &err), 0);
    ck_assert_int_eq(berth_channel_receive(ends[1], NULL, &message, &err), 0);
    ck_assert_int_eq(message.kind, BERTH_CHANNEL_STAGED);
    ck_assert_str_eq(message.text, "/a\n/b");
    ck_assert_int_eq(berth_channel_receive(ends[1], NULL, &message, &err), 0);
    ck_assert_int_eq(message.kind, BERTH_CHANNEL_DONE);
    ck_assert_str_eq(message.text, "");
}

/* Somebody decides by the code, and nobody by the sentence. */
TEST(a_refusal_keeps_its_sentence_and_its_code)
{
    struct berth_err why, seen;

    berth_err_set(&why, "--container-libs=ucx: no");
    berth_err_mark(&why, BERTH_ERR_OPTION);
    berth_channel_refuse(ends[0], &why);
    ck_assert_int_eq(berth_channel_receive(ends[1], NULL, &message, &err), 0);
    ck_assert_int_eq(message.kind, BERTH_CHANNEL_REFUSED);
    ck_assert_int_eq(berth_channel_refusal(&message, &seen), -1);
    ck_assert_str_eq(seen.text, why.text);
    ck_assert_int_eq(seen.code, BERTH_ERR_OPTION);
}

TEST(a_longest_refusal_is_whole)
{
    struct berth_err why, seen;
    char text[2 * BERTH_ERR_SIZE];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    berth_err_set(&why, "%s", text);
    berth_channel_refuse(ends[0], &why);
    ck_assert_int_eq(berth_channel_receive(ends[1], NULL, &message, &err), 0);
    berth_channel_refusal(&message, &seen);
    ck_assert_str_eq(seen.text, why.text);
    ck_assert_int_eq(seen.code, BERTH_ERR_OTHER);
}

TEST(a_message_that_is_no_refusal)
{
    struct berth_err seen;

    berth_channel_send(ends[0], BERTH_CHANNEL_RESULT, "1", &err);
    ck_assert_int_eq(berth_channel_receive(ends[1], NULL, &message, &err), 0);
    ck_assert_int_eq(berth_channel_refusal(&message, &seen), -1);
    ck_assert_str_eq(seen.text, DAMAGED("message 3"));
}

TEST(who_waits_too_long_gives_up)
{
    struct berth_deadline deadline;

    berth_deadline_begin(&deadline, 0);
    unit_interrupt();
    ck_assert_int_eq(berth_channel_receive(ends[1], &deadline, &message, &err), -1);
    ck_assert_str_eq(err.text,
                     "the other process of berth does not answer (Connection timed "
                     "out); see the first error of the step, or submit again");
}

TEST(who_is_gone_is_noticed)
{

    close(ends[0]);
    ck_assert_int_eq(berth_channel_receive(ends[1], NULL, &message, &err), -1);
    ck_assert_str_eq(err.text,
                     "the other process of berth does not answer (Connection reset by "
                     "peer); see the first error of the step, or submit again");
    ck_assert_int_eq(berth_channel_send(ends[1], BERTH_CHANNEL_DONE, "", &err), -1);
    ck_assert_str_eq(err.text,
                     "the other process of berth does not answer (Broken pipe); see "
                     "the first error of the step, or submit again");
}

TEST(what_is_too_long_is_not_cut)
{
    BERTH_FREE char *name = malloc(BERTH_CHANNEL_SIZE + 1);

    ck_assert_ptr_nonnull(name);
    memset(name, 'x', BERTH_CHANNEL_SIZE);
    name[BERTH_CHANNEL_SIZE] = '\0';
    ck_assert_int_eq(berth_channel_send(ends[0], BERTH_CHANNEL_STAGED, name, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "does not answer (File name too long)"));
}

TEST(a_result_may_be_larger_than_a_message)
{
    BERTH_BUF struct berth_buf sent = {0};
    BERTH_BUF struct berth_buf got = {0};

    for (int i = 0; i < 2 * BERTH_CHANNEL_SIZE; i++)
        berth_buf_add(&sent, i % 7 ? "a" : "", 1);
    ck_assert_int_eq(berth_channel_send_result(ends[0], &sent, &err), 0);
    ck_assert_int_eq(berth_channel_send(ends[0], BERTH_CHANNEL_DONE, "", &err), 0);
    while (berth_channel_receive(ends[1], NULL, &message, &err) == 0 &&
           message.kind == BERTH_CHANNEL_RESULT)
        berth_buf_add(&got, message.text, message.count);
    ck_assert_int_eq(message.kind, BERTH_CHANNEL_DONE);
    ck_assert_uint_eq(got.used, sent.used);
    ck_assert_mem_eq(got.text, sent.text, sent.used);
}

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, open_ends, close_ends);
}
