/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
#ifndef TAILRACE_CONSTANTS_H
#define TAILRACE_CONSTANTS_H

#include "shared.h"

/* Set before the programs are loaded. */
const volatile struct tr_constants constants = {};

#endif
