// HTTP/1.0 and 1.1: parses requests and serializes responses.
#pragma once

#include "qt.h"

struct Request {
    QByteArray method;
    QByteArray path;
    bool keepsConnection = false;
};

struct Answer {
    int status = 200;
    QByteArray body;
    QByteArray type = "text/html; charset=utf-8";
};

enum class Arrival { Part, Whole, Wrong };

// Takes the first request from the bytes that have arrived, and drops its body.
Arrival takeRequest(QByteArray &arrived, Request &request);

QByteArray toBytes(const Answer &answer, const Request &request);
