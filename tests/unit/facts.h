/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "elf/facts.h"

/* The facts that TEXT tells, words with blanks between: first the kind (program,
 * library, static, script, other, none), then any of so=NAME need=LIBRARY
 * ver=LIBRARY:VERSION vdef=VERSION interp=PATH machine=NAME bits=N und=FUNCTION
 * weak=FUNCTION def=FUNCTION data=OBJECT:SIZE copy=OBJECT:SIZE text=TEXT (~ is a blank)
 * A program has an interpreter, and everything is for x86_64, unless it is said. The
 * caller frees them with berth_elf_fini(). */
struct berth_elf unit_facts(const char *text);
