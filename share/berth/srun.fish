# SPDX-License-Identifier: Apache-2.0
# Completion of berth's options of srun, sbatch and salloc in fish, besides what completes them
# already: to be sourced at the end of ~/.config/fish/config.fish.

source (dirname (realpath (status filename)))/../fish/vendor_completions.d/berth.fish; or return
for command in srun sbatch salloc
    __berth_options srun "$BERTH_OPTION_PREFIX" -c $command
end
