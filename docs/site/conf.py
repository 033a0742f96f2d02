"""Settings of the site for Sphinx. Pages are those that gather.py wrote."""
import os
import re
import shutil

project = "lanepool"
author = "the authors of lanepool"
release = version = os.environ["LANEPOOL_VERSION"]
copyright = author  # the footer shows it; the licence is MIT
root_doc = "index"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 4
nitpicky = True
# These are the C library's, or one of a program that uses an adapter.
nitpick_ignore_regex = [("c:identifier", r"(?!(lanepool|LANEPOOL)_).*")]
suppress_warnings = ["misc.highlighting_failure"]  # quotations may be cut
primary_domain = highlight_language = "c"

here = os.path.dirname(os.path.abspath(__file__))
html_theme = "furo"
html_title = "lanepool " + version
html_static_path = [here + "/style.css"]
html_css_files = ["style.css"]
html_extra_path = [os.environ["LANEPOOL_SITE_EXTRA"]]
html_copy_source = html_show_sourcelink = False
html_show_search_summary = False  # it is fetched, which a browser refuses for files
html_domain_indices = False
pygments_style = "xcode"
pygments_dark_style = "github-dark"
maximum_signature_line_length = 80

# Older versions of Sphinx add these for extensions, which the site does not have. Furo's own script
# switches between light and dark; the site follows the system's setting.
SCRIPTS = ("jquery.js", "underscore.js", "_sphinx_javascript_frameworks_compat.js", "furo.js")


def leave_scripts_out(app, page, template, context, tree):
    context["script_files"] = [script for script in context.get("script_files", [])
                               if not str(getattr(script, "filename", script)).endswith(SCRIPTS)]


def remove_scripts(app, error):
    if error:
        return
    static = os.path.join(app.outdir, "_static")
    shutil.rmtree(os.path.join(static, "scripts"), ignore_errors=True)
    for name in os.listdir(static):
        if name.startswith(("jquery", "underscore", "_sphinx_javascript")):
            os.remove(os.path.join(static, name))
    # Debian's Furo imports a file of its web server.
    path = os.path.join(static, "styles", "furo.css")
    with open(path, encoding="utf-8") as file:
        style = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"@import url\(/[^)]*\);", "", style))


def setup(app):
    app.connect("html-page-context", leave_scripts_out, priority=900)
    app.connect("build-finished", remove_scripts)
