# SPDX-License-Identifier: Apache-2.0
# Completion of berth in fish. `berth --list` says what there is to offer.

# __berth_options VERB PREFIX WORD...: the options of VERB, with PREFIX, for `complete WORD...`.
function __berth_options --argument-names verb prefix
    berth --list 2>/dev/null | while read -l -d \t of option values help
        test "$of" = "$verb"; and string match -q -- '--*' $option; or continue
        set -l more -d $help
        if string match -q 'FILE*' -- $values
            set more -r -a (string sub -s 6 -- $values) $more
        else if test "$values" != -
            set more -x -a $values $more
        else if string match -q -- '*=' $option
            set more -x $more
        end
        complete $argv[3..-1] -l "$prefix"(string trim -c -= -- $option) $more
    end
end

berth --list 2>/dev/null | while read -l -d \t verb option values help
    test "$option" = -; or continue
    complete -c berth -n __fish_use_subcommand -a $verb -d $help
    __berth_options $verb '' -c berth -n "__fish_seen_subcommand_from $verb"
end
