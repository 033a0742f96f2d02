# bash completion for laneview                                              -*- shell-script -*-

_laneview()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local commands='timeline svg html chrome stats plan dot replay record play compare scenario'
    local options names=
    compopt -o default
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        compopt +o default
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$word")
        return
    fi
    case $before in
    --layout) mapfile -t COMPREPLY < <(compgen -W 'worker key' -- "$word") && return ;;
    -o) return ;; # a file
    esac
    case ${COMP_WORDS[1]} in
    timeline) options='--from --to --ascii -o' ;;
    svg) options='--from --to -o' ;;
    html | chrome) options='-o' ;;
    plan) options='--workers -o' ;;
    stats) options='--json -o' ;;
    dot) options='--at -o' ;;
    replay) options='--speed --ascii' ;;
    record) options='-o --workers --layout --speed' names=yes ;;
    play) options='--speed --workers --layout --ascii' names=yes ;;
    compare) options='--speed --workers' names=yes ;;
    scenario) names=yes ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$word")
    elif [[ $names ]]; then
        names=$("${COMP_WORDS[0]}" scenario 2>/dev/null | cut -d ' ' -f 1)
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
    fi
}

complete -F _laneview laneview
