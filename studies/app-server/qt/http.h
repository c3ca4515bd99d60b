// HTTP/1.0 and 1.1: bytes to requests, and answers to bytes.
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

// Takes the first request from what has arrived; its body is dropped.
Arrival takeRequest(QByteArray &arrived, Request &request);

QByteArray toBytes(const Answer &answer, const Request &request);
