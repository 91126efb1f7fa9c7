//! Starts `paceline lsp` for Zed. Settings come from Zed's own file: "lsp": { "paceline": { "settings": { … } } }.

use zed_extension_api::{
    self as zed, serde_json::Value, settings::LspSettings, Command, LanguageServerId, Result, Worktree,
};

struct Paceline;

impl zed::Extension for Paceline {
    fn new() -> Self {
        Paceline
    }

    fn language_server_command(&mut self, id: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let chosen = LspSettings::for_worktree(id.as_ref(), worktree).ok().and_then(|settings| settings.binary);
        let path = chosen.as_ref().and_then(|binary| binary.path.clone());
        let command = path
            .or_else(|| worktree.which("paceline"))
            .ok_or("paceline is not on the PATH. Name its whole path in lsp.paceline.binary.path of Zed's settings.")?;
        let args = chosen.and_then(|binary| binary.arguments).unwrap_or_else(|| vec!["lsp".to_string()]);
        Ok(Command { command, args, env: worktree.shell_env() })
    }

    fn language_server_workspace_configuration(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<Value>> {
        let settings = LspSettings::for_worktree(id.as_ref(), worktree).ok().and_then(|settings| settings.settings);
        Ok(settings.map(|values| zed::serde_json::json!({ "paceline": values })))
    }
}

zed::register_extension!(Paceline);
