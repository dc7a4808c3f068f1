/* Messages that are answered with a problem: see message.h. */
#include "server/message.h"

#include "server/conn.h"
#include "server/front.h"
#include "server/worker.h"

bool sl_message_problem(struct sl_message *message, uint32_t status, const char *detail)
{
    message->call->status = (uint16_t)status;
    message->call->detail = detail;
    message->call->reply = message->conn->front->problem;
    return false;
}

void sl_message_refuse(struct sl_message *message, uint32_t status, const char *detail)
{
    enum sl_refused_caller caller = sl_refused_caller(status);
    if (caller != SL_REFUSED_COUNT)
        sl_count_add(&message->conn->worker->traffic.refused[caller], 1);
    sl_round_drop(message->round, message->call);
    sl_message_problem(message, status, detail);
    sl_round_add(message->round, message->call);
}
