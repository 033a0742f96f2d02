/*
 * The fixed parts of the HTML page: the files of the folder `page`, which the build embeds.
 */
#ifndef LANEVIEW_HTML_ASSETS_H
#define LANEVIEW_HTML_ASSETS_H

#include <stddef.h>

struct html_asset {
    const char *bytes;
    size_t size;
    const char *hash; /* for a Content-Security-Policy: sha256-... */
};

extern const struct html_asset html_style, html_body, html_script;

#endif
