/*
 * Owns the page: its head, and the order of its parts. The policy in the head allows the page's own
 * script and style by their hashes, and nothing else. So a page loads nothing, and a name in a
 * recording cannot become a script.
 */
#include "draw/html.h"

#include "draw/html_assets.h"

static void add_asset(struct text *html, const struct html_asset *asset)
{
    text_add_bytes(html, asset->bytes, asset->size);
}

static void add_head(struct text *html, const char *title)
{
    text_add(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    text_add(html,
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">\n",
             html_script.hash, html_style.hash);
    text_add(html, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    text_add_xml(html, title);
    text_add(html, " - laneview</title>\n<style>");
    add_asset(html, &html_style);
    text_add(html, "</style>\n</head>\n");
}

void html_write(struct text *html, const struct model *model, const char *title)
{
    add_head(html, title);
    add_asset(html, &html_body);
    text_add(html, "<script type=\"application/json\" id=\"data\">");
    html_write_data(html, model, title);
    text_add(html, "</script>\n<script>");
    add_asset(html, &html_script);
    text_add(html, "</script>\n</body>\n</html>\n");
}
