/* commands.h -- every command: one object in its cmd_NAME.c. */
#ifndef MEMSNAP_COMMANDS_H
#define MEMSNAP_COMMANDS_H

#include "cli.h"

extern const struct command command_report;
extern const struct command command_info;
extern const struct command command_export;
extern const struct command command_stats;
extern const struct command command_peak;
extern const struct command command_oom;
extern const struct command command_simulate;
extern const struct command command_leaks;
extern const struct command command_replay;
extern const struct command command_lines;
extern const struct command command_tune;
extern const struct command command_frag;
extern const struct command command_check;
extern const struct command command_plot;

#endif
