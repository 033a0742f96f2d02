# bash completion for ledgerbatch                                           -*- shell-script -*-

_ledgerbatch()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local commands='run day check plan retry balances status register statement trial-balance verify
        generate'
    local run_options='--db --out --workers --csv --client-depth --client-by --commutative
        --no-overdraft --rules --monthly --end-month --statements --accrual-accounts --until
        --max-refused --include-root --unique-codes --rejects --max-rejects --commit-size --trace
        --live --ascii --task-wait-us --fail-on --on-failure --on-quarantine'
    local day_options='--date --post-deferred --skip --reverse --backdated'
    local options
    compopt -o default
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        compopt +o default
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$word")
        return
    fi
    case $before in
    --on-failure) mapfile -t COMPREPLY < <(compgen -W 'hold defer' -- "$word") && return ;;
    --on-quarantine) mapfile -t COMPREPLY < <(compgen -W 'exclude hold fail' -- "$word") && return ;;
    --statements) mapfile -t COMPREPLY < <(compgen -W 'group client' -- "$word") && return ;;
    --client-by) mapfile -t COMPREPLY < <(compgen -W 'depth file payee tag:' -- "$word") && return ;;
    --out | --include-root) mapfile -t COMPREPLY < <(compgen -d -- "$word") && return ;;
    --db | --rules | --rejects | --trace | --durations) return ;; # a file
    esac
    case ${COMP_WORDS[1]} in
    run) options="$run_options --store --join" ;;
    plan) options="$run_options --durations" ;;
    day | check) options="$run_options $day_options" ;;
    retry) options="$run_options $day_options --lane --all --day" ;;
    generate)
        options='--customers --transactions --months --seed'
        if ((COMP_CWORD == 2)) && [[ $word != -* ]]; then
            options=smallbank
        fi
        ;;
    statement) options='--from --to --db' ;;
    trial-balance) options='--at --db' ;;
    verify) options='--head --out --db' ;;
    status) options='--db --store --task' ;;
    balances | register) options=--db ;;
    esac
    if [[ $word == -* || ${COMP_WORDS[1]} == generate ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    fi
}

complete -F _ledgerbatch ledgerbatch
