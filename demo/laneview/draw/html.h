/*
 * A run as one HTML page, which needs no other file and no network.
 */
#ifndef LANEVIEW_HTML_H
#define LANEVIEW_HTML_H

#include "base/text.h"
#include "model/model.h"

/* Adds the page. The model has been fed all events; the title is clean. */
void html_write(struct text *html, const struct model *model, const char *title);

/* Adds the data of the page as JSON, in which no < occurs. */
void html_write_data(struct text *json, const struct model *model, const char *title);

#endif
